/*
 * A program to profile: CPU work annotated with NVTX the way nvtxa expects it.
 *
 *   nvtx_workload [ITERATIONS [THREADS]]        default: 3 iterations, 1 helper thread
 *
 *   nsys profile --trace=nvtx --sample=none --cpuctxsw=none -o RUN_DIR/trace nvtx_workload 5
 *
 * Three rules make a trace analysable:
 *   1. one range around everything that is measured; the manifest's `capture_range` is its name;
 *   2. inside it, on the same thread, one range called "iteration N" for each measured iteration;
 *   3. inside those, ranges for the parts, nested as the work is.
 * The macros of <nvtxa/harness.h> make the first two. It is a header only: this program does not
 * need libnvtxanalysis. For the third, a push and its pop stand in one function, so that no path
 * leaves a range open. NVTX costs a few nanoseconds where nothing listens, so the annotation can
 * stay in.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtxa/harness.h>

enum { PIXELS = 1 << 14, MAX_THREADS = 64 };

struct image {
  float pixels[PIXELS];
};

/* Some arithmetic that a compiler cannot leave out. */
static void transform(struct image *image, int rounds) {
  for (int round = 0; round < rounds; round++) {
    for (int i = 1; i < PIXELS; i++) {
      image->pixels[i] = 0.5f * (image->pixels[i] + image->pixels[i - 1]) + (float)round;
    }
  }
}

static void part(const char *name, struct image *image, int rounds) {
  nvtxRangePushA(name);
  transform(image, rounds);
  nvtxRangePop();
}

static void preprocess(struct image *image) {
  nvtxRangePushA("preprocessing");
  part("resize", image, 4);
  part("normalize", image, 2);
  nvtxRangePop();
}

static void postprocess(struct image *image) {
  nvtxRangePushA("postprocessing");
  part("resize", image, 1); /* another scope than preprocessing.resize */
  part("nms", image, 3);
  nvtxRangePop();
}

/* Work beside the measured thread: its ranges get the context "outside". */
static void *load(void *user) {
  struct image *image = user;
  for (int batch = 0; batch < 4; batch++) {
    nvtxRangePushA("load batch");
    part("decode", image, 5);
    nvtxRangePop();
  }
  return NULL;
}

static int number(int argc, char **argv, int position, int fallback, int limit) {
  int value = argc > position ? atoi(argv[position]) : fallback;
  return value < 0 ? 0 : value > limit ? limit : value;
}

/* Facts about this run for its manifest, where `nvtxa record` asks for them. */
static void tell_facts(int iterations, int thread_count) {
  const char *path = getenv("NVTXA_MANIFEST_EXTRA");
  FILE *file = path == NULL ? NULL : fopen(path, "w");
  if (file != NULL) {
    fprintf(file, "workload: {iterations: %d, threads: %d, pixels: %d}\n", iterations, thread_count,
            PIXELS);
    fclose(file);
  }
}

int main(int argc, char **argv) {
  int iterations = number(argc, argv, 1, 3, 1000000);
  int thread_count = number(argc, argv, 2, 1, MAX_THREADS);
  struct image *images = calloc((size_t)thread_count + 1, sizeof *images);
  pthread_t threads[MAX_THREADS];
  if (images == NULL) {
    return 1;
  }

  tell_facts(iterations, thread_count);
  part("warmup", &images[0], 10); /* before the capture range: not measured */
  for (int i = 0; i < thread_count; i++) {
    if (pthread_create(&threads[i], NULL, load, &images[i + 1]) != 0) {
      return 1;
    }
  }

  NVTXA_CAPTURE_RANGE("profile-target") {
    for (int index = 0; index < iterations; index++) {
      NVTXA_ITERATION(index) {
        preprocess(&images[0]);
        part("infer", &images[0], 10);
        postprocess(&images[0]);
      }
      if (index == 0) {
        part("checkpoint", &images[0], 2); /* between two iterations */
      }
    }
  }

  for (int i = 0; i < thread_count; i++) {
    pthread_join(threads[i], NULL);
  }
  printf("%d iterations, %g\n", iterations, (double)images[0].pixels[PIXELS - 1]);
  free(images);
  return 0;
}
