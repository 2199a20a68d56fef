// Asking for lines of caches before they are needed, and storing past the caches.
#ifndef WEBNND_SHADERS_STREAM_GLSL_
#define WEBNND_SHADERS_STREAM_GLSL_

// STORE_WORD of what nobody loads before the kernel ends, where neighbours store whole lines of a cache whose
// rows lie far apart: caches then need not read the lines first. Who reads them next finds them in memory, so
// that it pays where caches would not keep them, on some processors more often than on others
// (base/streamed_stores.h), and not for what lies as it is read (element-wise operators and what reads them
// take up to 1.5 times as long together). On llvmpipe processors have an instruction for it, by which LLVM is
// told to store what has this mark (base/drivers_llvm/lane_stores.h); for others it is 0.
const uint kStreamed = 0x57ea3ed1u;
#define STREAM_WORD(slot, index, value) STORE_WORD(slot, index, (value) | (UNKNOWN_ZERO & kStreamed))

// Of a word: 0. What it is for is the line that the word is in, which processors have an instruction to ask
// for (base/drivers_llvm/lane_loads.h); others load the word, and what is computed by it is to be stored
// somewhere, lest it be left out.
const uint kAsked = 0x0a5ced01u;
#define ASK_WORD(slot, index) (LOAD_WORD(slot, index) & (UNKNOWN_ZERO & kAsked))

#endif  // WEBNND_SHADERS_STREAM_GLSL_
