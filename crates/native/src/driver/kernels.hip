extern "C" __global__ void product(const float* a, const float* b, float* p) {
    const unsigned t = threadIdx.x, row = t & 2, column = t & 1;
    p[t] = a[row] * b[column] + a[row + 1] * b[column + 2];
}

extern "C" __global__ void gradient(const float* p, const float* b, float* g, float* l) {
    const unsigned t = threadIdx.x, row = t & 2, column = 2 * (t & 1);
    g[t] = 2.0f * (p[row] * b[column] + p[row + 1] * b[column + 1]);
    if (t == 0) {
        *l = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
    }
}
