/* Read bandwidth of memory: T threads each sum their share of an array that no cache can hold.
 *   cc -O3 -march=native -pthread bandwidth.c -o bandwidth && ./bandwidth THREADS MEGABYTES PASSES
 * Prints the bytes a second of the quickest pass. Sixteen sums at a time: additions do not wait for each other. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LANES = 16 };

struct share {
    const uint64_t *from;
    size_t count;
    uint64_t sum;
};

static void *sum(void *argument) {
    struct share *share = argument;
    uint64_t lanes[LANES] = {0}, total = 0;
    for (size_t i = 0; i + LANES <= share->count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) lanes[lane] += share->from[i + lane];
    for (size_t lane = 0; lane < LANES; lane++) total += lanes[lane];
    share->sum = total;
    return NULL;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **words) {
    if (count != 4) return fputs("usage: bandwidth THREADS MEGABYTES PASSES\n", stderr), 2;
    size_t threads = strtoul(words[1], NULL, 10), passes = strtoul(words[3], NULL, 10);
    size_t each = strtoul(words[2], NULL, 10) * 1000000 / sizeof(uint64_t) / threads / LANES * LANES;
    uint64_t *array = malloc(threads * each * sizeof *array);
    pthread_t *crew = malloc(threads * sizeof *crew);
    struct share *shares = malloc(threads * sizeof *shares);
    if (!array || !crew || !shares) return fputs("no memory\n", stderr), 1;
    for (size_t i = 0; i < threads * each; i++) array[i] = i;
    double best = 1e300;
    uint64_t total = 0;
    for (size_t pass = 0; pass < passes; pass++) {
        double start = now();
        for (size_t t = 0; t < threads; t++) {
            shares[t] = (struct share){array + t * each, each, 0};
            if (pthread_create(&crew[t], NULL, sum, &shares[t])) return fputs("no thread\n", stderr), 1;
        }
        for (size_t t = 0; t < threads; t++) pthread_join(crew[t], NULL), total += shares[t].sum;
        double took = now() - start;
        if (took < best) best = took;
    }
    /* The sum is printed so that no pass can be left out. */
    fprintf(stderr, "sum %llu\n", (unsigned long long)total);
    printf("%.0f\n", (double)(threads * each * sizeof *array) / best);
    return 0;
}
