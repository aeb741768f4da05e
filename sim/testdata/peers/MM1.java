import java.util.ArrayDeque;

import umontreal.ssj.randvar.ExponentialGen;
import umontreal.ssj.randvar.RandomVariateGen;
import umontreal.ssj.rng.MRG32k3a;
import umontreal.ssj.simevents.Event;
import umontreal.ssj.simevents.Simulator;
import umontreal.ssj.stat.Tally;

/** M/M/1 at load 0.8 in SSJ: prints seconds, customers and mean sojourn time in seconds, of the last of several runs. */
public class MM1 {
    private final Simulator sim = new Simulator();
    private final RandomVariateGen interarrival = new ExponentialGen(new MRG32k3a(), 1 / 1000e-6);
    private final RandomVariateGen service = new ExponentialGen(new MRG32k3a(), 1 / 800e-6);
    private final ArrayDeque<Double> line = new ArrayDeque<>();
    private final Tally sojourn = new Tally();
    private final int customers;
    private int arrived;

    private MM1(int customers) {
        this.customers = customers;
    }

    private class Arrival extends Event {
        Arrival(Simulator sim) {
            super(sim);
        }

        public void actions() {
            if (++arrived < customers) {
                new Arrival(sim).schedule(interarrival.nextDouble());
            }
            line.addLast(sim.time());
            if (line.size() == 1) {
                new Departure(sim).schedule(service.nextDouble());
            }
        }
    }

    private class Departure extends Event {
        Departure(Simulator sim) {
            super(sim);
        }

        public void actions() {
            sojourn.add(sim.time() - line.removeFirst());
            if (!line.isEmpty()) {
                new Departure(sim).schedule(service.nextDouble());
            }
        }
    }

    private double run() {
        long start = System.nanoTime();
        sim.init();
        new Arrival(sim).schedule(interarrival.nextDouble());
        sim.start();
        return (System.nanoTime() - start) / 1e9;
    }

    public static void main(String[] args) {
        int customers = Integer.parseInt(args[0]);
        for (int i = 0; i < 2; i++) {
            new MM1(customers).run(); // let the compiler settle
        }
        MM1 m = new MM1(customers);
        System.out.println(m.run() + " " + m.sojourn.numberObs() + " " + m.sojourn.average());
    }
}
