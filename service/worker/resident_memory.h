// What compiling kernels leaves in a worker's memory.
#ifndef WEBNND_SERVICE_WORKER_RESIDENT_MEMORY_H_
#define WEBNND_SERVICE_WORKER_RESIDENT_MEMORY_H_

namespace webnnd::service {

// From now on the heap does not grow for a block that is not small: it gets a mapping of its own,
// which goes back when it is freed. Compilers make many that live as long as one kernel's
// compilation, between others that stay. Called before there are other threads.
void MapHeapBlocks();

// Lets go of the pages of this process's program and large libraries that are as they are in their
// files: compiling a kernel touches many of LLVM's, running it none, and those that are needed again
// come back from the page cache. Calls nothing but madvise. Thread-safe.
void ReleaseLibraryPages();

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_RESIDENT_MEMORY_H_
