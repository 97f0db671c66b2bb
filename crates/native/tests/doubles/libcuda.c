/* A double of NVIDIA's libcuda.so.1, for what cannot be had without hardware: results of cuInit, devices, and the way
 * through a computation. It computes on the host what the two kernels stand for; it proves nothing of the kernels.
 *   FAKE_CUINIT   what cuInit returns (0)
 *   FAKE_GPUS     how many devices there are (1); CUDA_VISIBLE_DEVICES hides all of them where it is set and empty
 *   FAKE_FAULT    CALL=RESULT: what that call returns; or "wrong": a wrong product; or "abort": abort() in a launch
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fault(const char *call) {
    const char *told = getenv("FAKE_FAULT");
    size_t length = strlen(call);
    return told && !strncmp(told, call, length) && told[length] == '=' ? atoi(told + length + 1) : 0;
}
static int number(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}
static int is(const char *what) {
    const char *told = getenv("FAKE_FAULT");
    return told && !strcmp(told, what);
}

int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuInit(unsigned flags) { return flags ? 1 : number("FAKE_CUINIT", 0); }
int cuDeviceGetCount(int *count) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *count = visible && !*visible ? 0 : number("FAKE_GPUS", 1);
    return fault("cuDeviceGetCount");
}
int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, "Double %d", device);
    return 0;
}
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    memset(uuid, 0, 16);
    uuid[15] = (unsigned char)device;
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? 9 : 0;
    return attribute == 75 || attribute == 76 ? 0 : 1;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 1u << 30; return device < 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)1; return device < 0 ? 101 : fault("cuDevicePrimaryCtxRetain"); }
int cuCtxSetCurrent(void *context) { return context == (void *)1 ? fault("cuCtxSetCurrent") : 201; }
int cuModuleLoadData(void **module, const char *image) {
    *module = (void *)2;
    return strstr(image, ".target sm_") ? fault("cuModuleLoadData") : 218;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = !strcmp(name, "product") ? (void *)3 : (void *)4;
    return module == (void *)2 ? fault("cuModuleGetFunction") : 500;
}
int cuMemAlloc_v2(unsigned long long *address, size_t size) {
    *address = (unsigned long long)(size_t)malloc(size);
    return fault("cuMemAlloc");
}
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t size) {
    memcpy((void *)(size_t)to, from, size);
    return fault("cuMemcpyHtoD");
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size) {
    memcpy(to, (void *)(size_t)from, size);
    return fault("cuMemcpyDtoH");
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
    float *v[4];
    int count = function == (void *)3 ? 3 : 4;
    if (gx * gy * gz != 1 || bx != 4 || by * bz != 1 || shared || stream || extra) return 1;
    if (is("abort")) abort();
    for (int i = 0; i < count; i++) v[i] = *(float **)arguments[i];
    for (unsigned t = 0; t < bx; t++) {
        unsigned row = t & 2, column = t & 1;
        if (count == 3)
            v[2][t] = v[0][row] * v[1][column] + v[0][row + 1] * v[1][column + 2] + (float)is("wrong");
        else
            v[2][t] = 2 * (v[0][row] * v[1][2 * column] + v[0][row + 1] * v[1][2 * column + 1]);
    }
    if (count == 4) *v[3] = v[0][0] * v[0][0] + v[0][1] * v[0][1] + v[0][2] * v[0][2] + v[0][3] * v[0][3];
    return fault("cuLaunchKernel");
}
int cuCtxSynchronize(void) { return fault("cuCtxSynchronize"); }
