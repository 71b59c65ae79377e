/* A stand-in: enough of HIP to compile a kernel and its launch, nothing to run it. */
#pragma once
#include <stddef.h>
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
struct dim3 {
  unsigned x, y, z;
  constexpr __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
typedef struct ihipStream_t *hipStream_t;
typedef enum { hipSuccess = 0, hipErrorNoDevice = 100 } hipError_t;
extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream);
hipError_t hipLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t stream);
hipError_t hipGetDeviceCount(int *count);
}
#ifdef __HIP_DEVICE_COMPILE__
#define HALO_INDEX(axis, expression) struct { __device__ operator unsigned() const { return expression; } } axis;
#else
#define HALO_INDEX(axis, expression) unsigned axis;
#endif
struct halo_thread { HALO_INDEX(x, __builtin_amdgcn_workitem_id_x()) };
struct halo_block { HALO_INDEX(x, __builtin_amdgcn_workgroup_id_x()) };
struct halo_size { HALO_INDEX(x, __builtin_amdgcn_workgroup_size_x()) };
static constexpr halo_thread threadIdx{};
static constexpr halo_block blockIdx{};
static constexpr halo_size blockDim{};
