// What is stored past the caches, by processor.
#ifndef WEBNND_BASE_STREAMED_STORES_H_
#define WEBNND_BASE_STREAMED_STORES_H_

namespace webnnd {

// Of large results, those that are there sooner if they are stored past the caches
// (shaders/stream.glsl), reading them next included, beside those of which that is true on all
// processors: what was scattered to, and transposes of halves of words. As measured
// (docs/benchmarks.md and its neighbours).
struct StreamedStores {
  bool gathered = false;          // What is gathered from strips.
  bool transposed_words = false;  // Transposes of words.
  friend bool operator==(const StreamedStores&, const StreamedStores&) = default;
};

// Of Intel's processors, and of those that have AVX10, as Granite Rapids.
StreamedStores ChooseStreamedStores(bool is_intel, bool has_avx10);

// Of this one.
StreamedStores FindStreamedStores();

}  // namespace webnnd

#endif  // WEBNND_BASE_STREAMED_STORES_H_
