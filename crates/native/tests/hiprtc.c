/* Compiles a HIP source for an architecture with the run-time compiler of the ROCm that is there, no GPU needed, and writes
   the code object to standard output. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "no %s\n", name);
        exit(2);
    }
    return found;
}

int main(int count, char **arguments) {
    static char source[65536], option[64], log[65536];
    void *library = dlopen("libamdhip64.so.5", RTLD_NOW), *program = NULL;
    FILE *file = count == 3 ? fopen(arguments[1], "r") : NULL;
    if (!library || !file || !fread(source, 1, sizeof source - 1, file)) {
        fprintf(stderr, "no library or no source\n");
        return 2;
    }
    int (*create)(void **, const char *, const char *, int, const char **, const char **) =
        symbol(library, "hiprtcCreateProgram");
    int (*compile)(void *, int, const char **) = symbol(library, "hiprtcCompileProgram");
    int (*get_log)(void *, char *) = symbol(library, "hiprtcGetProgramLog");
    int (*get_size)(void *, size_t *) = symbol(library, "hiprtcGetCodeSize");
    int (*get_code)(void *, char *) = symbol(library, "hiprtcGetCode");
    snprintf(option, sizeof option, "--offload-arch=%s", arguments[2]);
    const char *options[] = {option};
    if (create(&program, source, "kernels.hip", 0, NULL, NULL) || compile(program, 1, options)) {
        get_log(program, log);
        fprintf(stderr, "%s\n", log);
        return 1;
    }
    size_t size = 0;
    if (get_size(program, &size) || !size) {
        return 3;
    }
    char *code = malloc(size);
    if (!code || get_code(program, code)) {
        return 3;
    }
    return fwrite(code, 1, size, stdout) != size;
}
