"""M/M/1 at load 0.8 in SimPy: prints seconds, customers and mean sojourn time in seconds."""

import random
import sys
import time

import simpy


class Tally:
    def __init__(self):
        self.n, self.sum, self.sq = 0, 0.0, 0.0
        self.min, self.max = float("inf"), 0.0

    def add(self, x):
        self.n += 1
        self.sum += x
        self.sq += x * x
        if x < self.min:
            self.min = x
        if x > self.max:
            self.max = x


def customer(env, server, service, sojourn):
    arrived = env.now
    with server.request() as turn:
        yield turn
        yield env.timeout(service.expovariate(1 / 800e-6))
    sojourn.add(env.now - arrived)


def source(env, n, server, sojourn):
    interarrival, service = random.Random(1), random.Random(2)
    for _ in range(n):
        yield env.timeout(interarrival.expovariate(1 / 1000e-6))
        env.process(customer(env, server, service, sojourn))


n = int(sys.argv[1])
start = time.perf_counter()
env = simpy.Environment()
sojourn = Tally()
env.process(source(env, n, simpy.Resource(env, 1), sojourn))
env.run()
print(time.perf_counter() - start, sojourn.n, sojourn.sum / sojourn.n)
