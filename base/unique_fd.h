// UniqueFd: owns a file descriptor.
#ifndef WEBNND_BASE_UNIQUE_FD_H_
#define WEBNND_BASE_UNIQUE_FD_H_

#include <utility>

namespace webnnd {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  explicit operator bool() const { return valid(); }
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

  // A close-on-exec duplicate; invalid when the process is out of descriptors.
  UniqueFd Duplicate() const;

 private:
  int fd_ = -1;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_UNIQUE_FD_H_
