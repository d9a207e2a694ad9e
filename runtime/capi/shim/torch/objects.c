/* What operators are described by: tensors, scalars, arrays and lists (aclnn), descriptions and attributes (aclop).

   They live in C because they are made and destroyed for each call, from threads without the interpreter's lock. A call
   becomes two runs of words: its form (operator, shapes, types), which is the same for equal calls, and its values
   (addresses, numbers). `runtime.capi.shim.torch.forms` reads them; the tags below are the same there. */

#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../library.h"

enum { PREPARE = 0x20000, RUN, RUN_BY_NAME, ABSENT };
enum { NOTHING, TENSOR, SCALAR, INTS, FLOATS, BOOLS, TENSORS, SCALARS, NUMBER, REAL, TEXT, DESCRIPTION, ATTRIBUTES,
       EXECUTOR };
enum { REFUSED = 100000, NO_MEMORY = 200000 };

typedef struct { int64_t *words; size_t count, space; } run;

typedef struct {
    uint32_t tag, type;
    int32_t format, host;
    int64_t offset;
    void *data;
    uint64_t dims, stored;
    int64_t *shape; /* dims of the view, its strides, dims of the storage */
    char *name;
} tensor;

typedef struct { uint32_t tag, type; int64_t value[2]; } scalar;
typedef struct { uint32_t tag, type; uint64_t count; int64_t items[]; } items;
typedef struct { uint32_t tag, type; run form; } attributes;
typedef struct { uint32_t tag, type; run form, values; } executor;

static void put(run *to, int64_t word) {
    if (to->count == to->space) {
        to->space = to->space ? 2 * to->space : 64;
        to->words = realloc(to->words, to->space * 8);
        if (!to->words) abort();
    }
    to->words[to->count++] = word;
}

static void put_text(run *to, const char *text) {
    size_t size = text ? strlen(text) : 0;
    put(to, (int64_t)size);
    for (size_t at = 0; at < size; at += 8) {
        int64_t word = 0;
        memcpy(&word, text + at, size - at < 8 ? size - at : 8);
        put(to, word);
    }
}

static void *made(uint32_t tag, size_t size) {
    uint32_t *object = calloc(1, size);
    if (object) *object = tag;
    return object;
}

static int gone(const void *object, uint32_t tag) {
    if (!object || *(const uint32_t *)object != tag) return REFUSED;
    memset((void *)(uintptr_t)object, 0xff, 4);
    return 0;
}

static int64_t width(uint32_t type) { /* bytes of an element, by aclDataType */
    static const uint8_t known[] = {4, 2, 1, 4, 1, 0, 2, 2, 4, 8, 8, 8, 1, 0, 0, 0, 8, 16};
    if (type < sizeof known) return known[type];
    return type == 27 ? 2 : type == 33 ? 4 : type >= 34 && type <= 41 ? 1 : 0;
}

/* -- aclnn -- */

tensor *aclCreateTensor(const int64_t *shape, uint64_t dims, uint32_t type, const int64_t *strides, int64_t offset,
                        int32_t format, const int64_t *storage, uint64_t stored, void *data) {
    tensor *this = made(TENSOR, sizeof *this);
    if (!this || !(this->shape = calloc(2 * dims + stored + 1, 8))) return 0;
    this->type = type, this->format = format, this->offset = offset, this->data = data;
    this->dims = dims, this->stored = stored;
    if (dims) memcpy(this->shape, shape, dims * 8);
    for (int64_t at = (int64_t)dims - 1, step = 1; at >= 0; step *= shape[at--])
        this->shape[dims + (uint64_t)at] = strides ? strides[at] : step;
    if (stored) memcpy(this->shape + 2 * dims, storage, stored * 8);
    return this;
}

int aclDestroyTensor(const tensor *this) {
    int code = gone(this, TENSOR);
    if (code) return code;
    free(this->shape);
    free(this->name);
    free((void *)(uintptr_t)this);
    return 0;
}

int aclGetViewShape(const tensor *this, int64_t **shape, uint64_t *dims) {
    if (!this || this->tag != TENSOR || !shape || !dims) return REFUSED;
    *dims = this->dims;
    *shape = malloc(this->dims * 8 + 1); /* the caller's to free */
    if (!*shape) return NO_MEMORY;
    memcpy(*shape, this->shape, this->dims * 8);
    return 0;
}

scalar *aclCreateScalar(void *value, uint32_t type) {
    scalar *this = made(SCALAR, sizeof *this);
    if (!this || !value) return 0;
    this->type = type;
    memcpy(this->value, value, (size_t)width(type));
    return this;
}

static items *made_items(uint32_t tag, uint64_t count) {
    items *this = made(tag, sizeof *this + count * 8);
    if (this) this->count = count;
    return this;
}

#define ARRAY(Name, tag, type, stored)                                                 \
    items *aclCreate##Name##Array(const type *value, uint64_t count) {                 \
        items *this = made_items(tag, count);                                          \
        for (uint64_t at = 0; this && at < count; at++) {                              \
            stored each = (stored)value[at];                                           \
            memcpy(this->items + at, &each, 8);                                        \
        }                                                                              \
        return this;                                                                   \
    }
ARRAY(Int, INTS, int64_t, int64_t)
ARRAY(Float, FLOATS, float, double)
ARRAY(Bool, BOOLS, uint8_t, int64_t)

#define LIST(Name, tag, kind)                                                          \
    items *aclCreate##Name##List(const kind *const *value, uint64_t count) {           \
        items *this = made_items(tag, count);                                          \
        if (this && count) memcpy(this->items, value, count * 8);                      \
        return this;                                                                   \
    }
LIST(Tensor, TENSORS, tensor)
LIST(Scalar, SCALARS, scalar)

#define DESTROY(Name, kind, tag)                                                       \
    int aclDestroy##Name(const kind *this) {                                           \
        int code = gone(this, tag);                                                    \
        if (!code) free((void *)(uintptr_t)this);                                      \
        return code;                                                                   \
    }
DESTROY(Scalar, scalar, SCALAR)
DESTROY(IntArray, items, INTS)
DESTROY(FloatArray, items, FLOATS)
DESTROY(BoolArray, items, BOOLS)

int aclDestroyTensorList(const items *this) { /* its tensors go with it */
    int code = gone(this, TENSORS);
    for (uint64_t at = 0; !code && at < this->count; at++) aclDestroyTensor((tensor *)(uintptr_t)this->items[at]);
    if (!code) free((void *)(uintptr_t)this);
    return code;
}

int aclDestroyScalarList(const items *this) {
    int code = gone(this, SCALARS);
    for (uint64_t at = 0; !code && at < this->count; at++) aclDestroyScalar((scalar *)(uintptr_t)this->items[at]);
    if (!code) free((void *)(uintptr_t)this);
    return code;
}

static void put_tensor(executor *to, const tensor *this) {
    run *form = &to->form;
    put(form, TENSOR), put(form, this->type), put(form, this->format), put(form, this->offset);
    put(form, (int64_t)this->dims), put(form, (int64_t)this->stored);
    for (uint64_t at = 0; at < 2 * this->dims + this->stored; at++) put(form, this->shape[at]);
    put(&to->values, (int64_t)(uintptr_t)this->data + (this->data ? this->offset * width(this->type) : 0));
}

static int put_object(executor *to, const void *given) {
    uint32_t tag = given ? *(const uint32_t *)given : NOTHING;
    const items *list = given;
    const scalar *number = given;
    run *form = &to->form, *values = &to->values;
    switch (tag) {
    case NOTHING: put(form, NOTHING); return 0;
    case TENSOR: put_tensor(to, given); return 0;
    case SCALAR:
        put(form, SCALAR), put(form, number->type), put(values, number->value[0]), put(values, number->value[1]);
        return 0;
    case INTS: case FLOATS: case BOOLS: case TENSORS: case SCALARS:
        put(form, tag), put(form, (int64_t)list->count);
        for (uint64_t at = 0; at < list->count; at++) {
            if (tag != TENSORS && tag != SCALARS) put(values, list->items[at]);
            else if (put_object(to, (const void *)(uintptr_t)list->items[at])) return REFUSED;
        }
        return 0;
    default: return REFUSED;
    }
}

static void let_go(executor *this) {
    free(this->form.words);
    free(this->values.words);
    free(this);
}

int aclDestroyAclOpExecutor(executor *this) {
    int code = gone(this, EXECUTOR);
    if (!code) let_go(this);
    return code;
}

/* The first call of two: `kinds` has a letter for each argument: o object, i integer, d real number, s text; u tensor
   whose shape the data decide: where the shape is kept follows its address, and the second call writes it. */
int npuhal_torch_prepare(const char *name, const char *kinds, const uint64_t *args, uint64_t *workspace, executor **out) {
    executor *this = made(EXECUTOR, sizeof *this);
    int64_t code = !this || !workspace || !out ? REFUSED : 0;
    if (!code) put_text(&this->form, name);
    for (size_t at = 0; !code && kinds[at]; at++) {
        const tensor *object = (const void *)(uintptr_t)args[at];
        if (kinds[at] == 'o' || kinds[at] == 'u') {
            code = put_object(this, object);
            if (kinds[at] == 'u' && object) put(&this->values, (int64_t)(uintptr_t)object->shape);
        }
        else if (kinds[at] == 's') put(&this->form, TEXT), put_text(&this->form, (const char *)(uintptr_t)args[at]);
        else put(&this->form, kinds[at] == 'd' ? REAL : NUMBER), put(&this->values, (int64_t)args[at]);
    }
    if (!code) {
        uint64_t words[] = {(uint64_t)(uintptr_t)this->form.words, this->form.count};
        code = npuhal_acl_call(PREPARE, words, FAILED);
    }
    if (code) {
        if (this) let_go(this);
        return (int)code;
    }
    *workspace = 0;
    *out = this;
    return 0;
}

int npuhal_torch_run(executor *this, void *stream) {
    if (!this || this->tag != EXECUTOR) return REFUSED;
    uint64_t words[] = {(uint64_t)(uintptr_t)this->form.words, this->form.count, (uint64_t)(uintptr_t)this->values.words,
                        this->values.count, (uint64_t)(uintptr_t)stream};
    int64_t code = npuhal_acl_call(RUN, words, FAILED);
    aclDestroyAclOpExecutor(this);
    return (int)code;
}

int64_t npuhal_torch_absent(const char *name) {
    uint64_t words[] = {(uint64_t)(uintptr_t)name};
    return npuhal_acl_call(ABSENT, words, FAILED);
}

/* -- aclop -- */

tensor *aclCreateTensorDesc(uint32_t type, int dims, const int64_t *shape, int32_t format) {
    uint64_t count = dims > 0 ? (uint64_t)dims : 0;
    tensor *this = aclCreateTensor(shape, count, type, 0, 0, format, shape, count, 0);
    if (this) this->tag = DESCRIPTION;
    return this;
}

void aclDestroyTensorDesc(const tensor *this) {
    if (!this || this->tag != DESCRIPTION) return;
    ((tensor *)(uintptr_t)this)->tag = TENSOR;
    aclDestroyTensor(this);
}

int aclSetTensorFormat(tensor *this, int32_t format) {
    (void)format; /* how the storage is laid out: it is taken as the shape says */
    return this ? 0 : REFUSED;
}

int aclSetTensorShape(tensor *this, int dims, const int64_t *shape) {
    (void)dims, (void)shape;
    return this ? 0 : REFUSED;
}

void aclSetTensorDescName(tensor *this, const char *name) {
    if (!this) return;
    free(this->name);
    this->name = name ? strdup(name) : 0;
}

int aclSetTensorPlaceMent(tensor *this, int32_t where) {
    if (!this) return REFUSED;
    this->host = where;
    return 0;
}

uint32_t aclGetTensorDescType(const tensor *this) { return this ? this->type : UINT32_MAX; }
int32_t aclGetTensorDescFormat(const tensor *this) { return this ? this->format : -1; }
size_t aclGetTensorDescNumDims(const tensor *this) { return this ? this->dims : 0; }

int aclGetTensorDescDimV2(const tensor *this, size_t at, int64_t *size) {
    if (!this || !size || at >= this->dims) return REFUSED;
    *size = this->shape[at];
    return 0;
}

attributes *aclopCreateAttr(void) { return made(ATTRIBUTES, sizeof(attributes)); }

void aclopDestroyAttr(const attributes *this) {
    if (gone(this, ATTRIBUTES)) return;
    free(this->form.words);
    free((void *)(uintptr_t)this);
}

static int put_attribute(attributes *to, const char *name, uint32_t tag, const int64_t *words, uint64_t count) {
    if (!to || to->tag != ATTRIBUTES || !name) return REFUSED;
    to->type++; /* how many there are */
    put_text(&to->form, name), put(&to->form, tag), put(&to->form, (int64_t)count);
    for (uint64_t at = 0; at < count; at++) put(&to->form, words[at]);
    return 0;
}

static int64_t bits(double value) {
    int64_t word;
    memcpy(&word, &value, 8);
    return word;
}

#define ATTRIBUTE(Name, type, tag, convert)                                            \
    int aclopSetAttr##Name(attributes *to, const char *name, type value) {             \
        int64_t word = convert(value);                                                 \
        return put_attribute(to, name, tag, &word, 1);                                 \
    }
#define ATTRIBUTE_LIST(Name, type, tag, convert)                                       \
    int aclopSetAttrList##Name(attributes *to, const char *name, int count, const type *value) { \
        items *made = made_items(tag, count > 0 ? (uint64_t)count : 0);                \
        for (int at = 0; made && at < count; at++) made->items[at] = convert(value[at]); \
        int code = made ? put_attribute(to, name, tag, made->items, made->count) : NO_MEMORY; \
        free(made);                                                                    \
        return code;                                                                   \
    }
ATTRIBUTE(Int, int64_t, NUMBER, )
ATTRIBUTE(Bool, uint8_t, NUMBER, )
ATTRIBUTE(DataType, int32_t, NUMBER, )
ATTRIBUTE(Float, float, REAL, bits)
ATTRIBUTE_LIST(Int, int64_t, INTS, )
ATTRIBUTE_LIST(Bool, uint8_t, BOOLS, )
ATTRIBUTE_LIST(Float, float, FLOATS, bits)

int aclopSetAttrString(attributes *to, const char *name, const char *value) {
    run text = {0};
    put_text(&text, value);
    int code = put_attribute(to, name, TEXT, text.words, text.count);
    free(text.words);
    return code;
}

int aclopSetAttrListListInt(attributes *to, const char *name, int count, const int *sizes, const int64_t *const *values) {
    run words = {0};
    for (int row = 0; row < count; row++) {
        put(&words, sizes[row]);
        for (int at = 0; at < sizes[row]; at++) put(&words, values[row][at]);
    }
    int code = put_attribute(to, name, TENSORS, words.words, words.count);
    free(words.words);
    return code;
}

void *aclGetDataBufferAddr(const void *buffer);
size_t aclGetDataBufferSizeV2(const void *buffer);

static void put_described(executor *to, int count, const tensor *const *descriptions, void *const *buffers) {
    put(&to->form, count);
    for (int at = 0; at < count; at++) {
        tensor each = *descriptions[at];
        void *data = aclGetDataBufferAddr(buffers[at]);
        size_t size = aclGetDataBufferSizeV2(buffers[at]);
        put_text(&to->form, each.name);
        put(&to->form, each.host ? (int64_t)size : -1);
        each.data = each.host ? 0 : data;
        put_tensor(to, &each);
        for (size_t from = 0; each.host && from < size; from += 8) {
            int64_t word = 0;
            memcpy(&word, (char *)data + from, size - from < 8 ? size - from : 8);
            put(&to->form, word);
        }
    }
}

int aclopCompileAndExecute(const char *type, int inputs, const tensor *const *in, void *const *in_data, int outputs,
                           const tensor *const *out, void *const *out_data, const attributes *set, int engine,
                           int flag, const char *path, void *stream) {
    executor *this = made(EXECUTOR, sizeof *this);
    (void)engine, (void)flag, (void)path;
    if (!this || !type) return REFUSED;
    put_text(&this->form, type);
    put_described(this, inputs, in, in_data);
    put_described(this, outputs, out, out_data);
    put(&this->form, set ? (int64_t)set->type : 0);
    for (size_t at = 0; set && at < set->form.count; at++) put(&this->form, set->form.words[at]);
    uint64_t words[] = {(uint64_t)(uintptr_t)this->form.words, this->form.count, (uint64_t)(uintptr_t)this->values.words,
                        this->values.count, (uint64_t)(uintptr_t)stream};
    int64_t code = npuhal_acl_call(RUN_BY_NAME, words, FAILED);
    let_go(this);
    return (int)code;
}

int aclopCompileAndExecuteV2(const char *type, int inputs, tensor **in, void **in_data, int outputs, tensor **out,
                             void **out_data, attributes *set, int engine, int flag, const char *path, void *stream) {
    return aclopCompileAndExecute(type, inputs, (const tensor *const *)in, in_data, outputs, (const tensor *const *)out,
                                  out_data, set, engine, flag, path, stream);
}
