/* The prepared sends of this package, compiled. The Python text is the reference: each callable here holds its Python
   function, and hands its arguments over to it for all that is not the plain case, before anything has changed. There is
   one state: what is read and written here are the __slots__ of ring, epoch, program, block and buffer, at the offsets
   that their member descriptors name. Facts that do not change (lists of the ring, addresses, templates) are kept.

   Rules that the order of the steps follows:
   - The lock of the stream is taken, never looked at: a driver may be Python, and then other threads run in a send.
   - Everything that may fail is made before the send: the integers that the ring gets, the pair of a callback.
   - What may start the collector (a tuple, up to Python 3.11) is made before the facts are read.
   - What may run code when it is dropped is dropped when the lock is free again.
   - The interpreter's lock is given up while arguments are copied, and kept during the send, which does not wait. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pythread.h>
#include <structmember.h>

#ifdef Py_GIL_DISABLED
#error "slots are read and written under the interpreter's lock: a free-threaded build takes the Python functions"
#endif

#define REVISION 5       /* goes up with the facts that the constructors take */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
#define SQE_BYTES 64
#define NO_TASK 0xFFFF   /* the id that a v100 queue gives to no task */
#define TICK 64          /* entries between two reclaims */
#define MOST_PARAMETERS 4
#define MOST_WORDS 16    /* patched words of both entries */
#define MOST_ARGUMENTS 64
#define STORE_BYTES 64   /* mapped device memory takes whole units of so many bytes */

/* Offset of a member of __slots__; -1 with an exception for anything else. */
static Py_ssize_t member_offset(PyObject *member) {
    if (Py_IS_TYPE(member, &PyMemberDescr_Type)) return ((PyMemberDescrObject *)member)->d_member->offset;
    PyErr_Format(PyExc_TypeError, "expected a member of __slots__, not %R", member);
    return -1;
}

/* Read an exact int that is not negative; 0 without an exception where it is none. */
static inline int read_word(PyObject *value, uint64_t *word) {
    if (!value || !PyLong_CheckExact(value)) return 0;
    *word = PyLong_AsUnsignedLongLong(value);
    if (*word != UINT64_MAX || !PyErr_Occurred()) return 1;
    PyErr_Clear();
    return 0;
}

#define call_slow(slow, args, nargsf, kwnames) PyObject_Vectorcall(slow, args, PyVectorcall_NARGS(nargsf), kwnames)

/* -- the lock of a stream ------------------------------------------------------------------------------------------ */

typedef struct {
    PyObject_HEAD
    PyThread_type_lock lock;
    unsigned long owner;
    Py_ssize_t count;    /* how often its owner has it */
} Lock;

static inline int lock_try(Lock *self) {
    unsigned long me = PyThread_get_thread_ident();
    if (!(self->count && self->owner == me) && !PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) return 0;
    self->owner = me;
    return ++self->count > 0;
}

static inline void lock_give(Lock *self) {
    if (!--self->count) PyThread_release_lock(self->lock);
}

static PyObject *lock_acquire(Lock *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"blocking", NULL};
    int blocking = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:acquire", names, &blocking)) return NULL;
    if (lock_try(self)) Py_RETURN_TRUE;
    if (!blocking) Py_RETURN_FALSE;
    PyLockStatus status;
    do {
        if (PyErr_CheckSignals() < 0) return NULL;
        Py_BEGIN_ALLOW_THREADS
        status = PyThread_acquire_lock_timed(self->lock, -1, 1);
        Py_END_ALLOW_THREADS
    } while (status != PY_LOCK_ACQUIRED);
    self->owner = PyThread_get_thread_ident();
    self->count = 1;
    Py_RETURN_TRUE;
}

static PyObject *lock_release(Lock *self, PyObject *Py_UNUSED(args)) {
    if (!self->count || self->owner != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "cannot release a lock that this thread does not hold");
        return NULL;
    }
    lock_give(self);
    Py_RETURN_NONE;
}

static PyObject *lock_renew(Lock *self, PyObject *Py_UNUSED(args)) {
    PyThread_type_lock made = PyThread_allocate_lock();
    if (!made) return PyErr_NoMemory();
    self->lock = made, self->count = 0;
    Py_RETURN_NONE;
}

static PyObject *lock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Lock", names)) return NULL;
    Lock *self = (Lock *)type->tp_alloc(type, 0);
    if (!self || (self->lock = PyThread_allocate_lock())) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static void lock_dealloc(Lock *self) {
    if (self->count) PyThread_release_lock(self->lock);
    if (self->lock) PyThread_free_lock(self->lock);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef lock_methods[] = {
    {"acquire", (PyCFunction)(void (*)(void))lock_acquire, METH_VARARGS | METH_KEYWORDS,
     "Take the lock, once more where this thread has it; returns False where it is another's and blocking is false."},
    {"release", (PyCFunction)lock_release, METH_NOARGS, "Give it back once; RuntimeError where this thread has it not."},
    {"_at_fork_reinit", (PyCFunction)lock_renew, METH_NOARGS, "Be free in a child of fork, where its owner may be gone."},
    {"__enter__", (PyCFunction)(void (*)(void))lock_acquire, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__exit__", (PyCFunction)lock_release, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject LockType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "runtime.core.submission._send.Lock",
    .tp_doc = "A lock that its owner may take again, as threading.RLock; the sends take it without a call.",
    .tp_basicsize = sizeof(Lock),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = lock_new, .tp_dealloc = (destructor)lock_dealloc, .tp_methods = lock_methods,
};

/* -- callables with objects that they hold --------------------------------------------------------------------------- */

#define HELD_HEAD PyObject_HEAD vectorcallfunc call; PyObject *weak; PyObject *slow;

typedef struct { HELD_HEAD PyObject *held[1]; } Held;

#define HELD_FUNCTIONS(name, type, count, end)                                                                   \
    static int name##_traverse(type *self, visitproc visit, void *arg) {                                         \
        for (int n = 0; n < count; n++) Py_VISIT(self->held[n]);                                                 \
        Py_VISIT(self->slow);                                                                                    \
        return 0;                                                                                                \
    }                                                                                                            \
    static int name##_clear(type *self) {                                                                        \
        for (int n = 0; n < count; n++) Py_CLEAR(self->held[n]);                                                 \
        Py_CLEAR(self->slow);                                                                                    \
        return 0;                                                                                                \
    }                                                                                                            \
    static void name##_dealloc(type *self) {                                                                     \
        PyObject_GC_UnTrack(self);                                                                               \
        if (self->weak) PyObject_ClearWeakRefs((PyObject *)self);                                                \
        end;                                                                                                     \
        name##_clear(self);                                                                                      \
        Py_TYPE(self)->tp_free((PyObject *)self);                                                                \
    }

static PyMemberDef held_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Held, slow), READONLY, "The Python function that it stands for."},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *held_repr(Held *self) { return PyObject_Repr(self->slow); }

static PyObject *held_fact(Held *self, void *name) { return PyObject_GetAttrString(self->slow, name); }

#define FACT(name) {name, (getter)held_fact, NULL, NULL, name}
static PyGetSetDef held_facts[] = {FACT("__name__"), FACT("__qualname__"), FACT("__module__"), FACT("__doc__"), {NULL}};

static PyObject *held_bind(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type)) {
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);  /* as a function does */
}

#define HELD_TYPE(variable, type, name, text)                                                                    \
    static PyTypeObject variable = {                                                                             \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "runtime.core.submission._send." #type,                         \
        .tp_doc = text,                                                                                          \
        .tp_basicsize = sizeof(type),                                                                            \
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,                        \
        .tp_vectorcall_offset = offsetof(Held, call),                                                            \
        .tp_call = PyVectorcall_Call,                                                                            \
        .tp_weaklistoffset = offsetof(Held, weak),                                                               \
        .tp_new = name##_new,                                                                                    \
        .tp_dealloc = (destructor)name##_dealloc,                                                                \
        .tp_traverse = (traverseproc)name##_traverse,                                                            \
        .tp_clear = (inquiry)name##_clear,                                                                       \
        .tp_members = held_members, .tp_getset = held_facts, .tp_descr_get = held_bind,                          \
        .tp_repr = (reprfunc)held_repr,                                                                          \
    }

/* -- the send of one or two entries ---------------------------------------------------------------------------------- */

enum { NOTHING, ARGUMENTS, FINISHED, KEPT, RECORDED };  /* what goes along with a task */
enum { NUMBER = 255 };  /* the source of a word that is not a parameter: the number of the task */
enum {
    RING, LOCK, NUMBERS, OWNERS, INFO, INFO_2, EPOCH, EPOCH_2, PROGRAM, CARRIED, SERIAL, VALUE_OF, SENDER, DEVICE,
    REFERENCE, AGAIN, REPAIR, SENDING, STAGING, MAPPED, HOLDER, TICKED, MAKER, SEND_HELD
};

typedef struct { uint16_t offset; uint8_t bytes, source; uint64_t bias; } Word;
typedef uint32_t (*Driver)(uint32_t, void *);

typedef struct {
    HELD_HEAD
    PyObject *held[SEND_HELD];
    Py_ssize_t submitted, limit, counter, blocked, closed, end, base, tail;  /* offsets of slots */
    Py_buffer numbers, staging;
    Driver driver;       /* NULL where the driver is a Python function */
    char *info;
    Py_ssize_t info_address;
    uint64_t depth, publishes, edge;  /* edge: the count that a captured task must be below; 0 for others */
    uint32_t device;
    int counted, entries, parameters, carries, falls_back, words;
    Word word[MOST_WORDS];
    uint8_t row[2 * SQE_BYTES];
} Send;

static inline int put(uint8_t *row, const Word *word, uint64_t value) {
    uint64_t sum = value + word->bias;
    if (sum < value || (word->bytes < 8 && sum >> (8 * word->bytes))) return 0;
    memcpy(row + word->offset, &sum, word->bytes);
    return 1;
}

/* What was in the list is the caller's to drop. */
static inline PyObject *swap(PyObject *list, Py_ssize_t at, PyObject *item) {
    PyObject *old = PyList_GET_ITEM(list, at);
    PyList_SET_ITEM(list, at, Py_NewRef(item));
    return old;
}

#define SET_SLOT(object, offset, number) Py_XSETREF(SLOT(object, offset), number)  /* ints: dropping one runs nothing */

/* Ring the driver; its code, or -1 with an exception. */
static long long ring_driver(Send *self) {
    PyObject **held = self->held;
    if (!self->driver) {
        PyObject *args[] = {held[DEVICE], held[REFERENCE]}, *rc = PyObject_Vectorcall(held[SENDING], args, 2, NULL);
        if (!rc) return -1;
        long long code = PyLong_AsLongLong(rc);
        Py_DECREF(rc);
        return code == -1 && !PyErr_Occurred() ? UINT32_MAX : code;
    }
    if (held[MAPPED] == Py_None) return self->driver(self->device, self->info);
    uint64_t tail = PyLong_AsUnsignedLongLong(SLOT(held[MAPPED], self->tail));
    uint64_t base = PyLong_AsUnsignedLongLong(SLOT(held[MAPPED], self->base));
    if (PyErr_Occurred()) return -1;
    PyObject *next = PyLong_FromUnsignedLongLong((tail + self->entries) % self->depth);
    if (!next) return -1;
    uint64_t from = (uint64_t)(uintptr_t)self->staging.buf;
    if (tail + self->entries <= self->depth) {
        from = base + tail * SQE_BYTES;
        for (int entry = 0; entry < self->entries; entry++)
            memcpy((void *)(uintptr_t)(from + entry * SQE_BYTES), (char *)self->staging.buf + entry * SQE_BYTES, SQE_BYTES);
    }
    memcpy(self->info + self->info_address, &from, sizeof from);
    uint32_t rc = self->driver(self->device, self->info);
    if (rc) Py_DECREF(next);
    else SET_SLOT(held[MAPPED], self->tail, next);
    return rc;
}

/* Call, with what there is; 0 with an exception. */
static inline int hand(PyObject *to, PyObject *what) {
    PyObject *done = what ? PyObject_CallOneArg(to, what) : PyObject_CallNoArgs(to);
    return Py_XDECREF(done), done != NULL;
}

/* What a graph keeps of a captured task (`Recorded` of its node list); `record` is 0 at first while one is missing. */
static int fill_record(const Send *self, PyObject *record, uint64_t id, uint64_t serial, uint64_t at, PyObject *allocation,
                       uint64_t args) {
    const uint64_t numbers[] = {id, serial, at, 0, args};
    for (int n = 0; n < 5; n++) {
        PyObject *fact = n == 3 ? Py_NewRef(allocation) : PyLong_FromUnsignedLongLong(numbers[n]);
        if (!fact) return 0;
        PyTuple_SET_ITEM(record, n + 1, fact);
    }
    PyTuple_SET_ITEM(record, 0, Py_NewRef(self->held[MAKER]));
    return 1;
}

static PyObject *broken_off(Send *self, PyObject *carry) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *repaired = PyObject_CallFunctionObjArgs(self->held[REPAIR], carry, value, NULL);
    if (repaired) PyErr_Restore(type, value, trace);
    else Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
    return Py_XDECREF(repaired), NULL;
}

/* Send: the count behind the task as a new reference; NULL with an exception, or without one where nothing was done and
   the Python function is right. `late` is the object that a value is made of under the lock. */
static PyObject *send_core(Send *self, const uint64_t *values, PyObject *late, PyObject *carry) {
    PyObject **held = self->held, *ring = held[RING], *pair = NULL, *next = NULL, *counter = NULL, *old[4];
    uint8_t row[2 * SQE_BYTES];
    int olds = 0, entries = self->entries;
    uint64_t submitted, limit, count, number = 0;
    memcpy(row, self->row, sizeof row);
    if (held[VALUE_OF] == Py_None)
        for (const Word *word = self->word; word < self->word + self->words; word++)
            if (word->source != NUMBER && !put(row, word, values[word->source])) return NULL;
    if ((self->edge || (self->carries == FINISHED && carry != Py_None)) && !(pair = PyTuple_New(self->edge ? 6 : 2)))
        return broken_off(self, carry);
    if (!lock_try((Lock *)held[LOCK])) goto other;
    if (SLOT(held[EPOCH], self->blocked) != Py_False
        || (held[EPOCH_2] != Py_None && SLOT(held[EPOCH_2], self->blocked) != Py_False)
        || (held[PROGRAM] != Py_None && SLOT(held[PROGRAM], self->closed) != Py_False)
        || !read_word(SLOT(ring, self->submitted), &submitted) || !read_word(SLOT(ring, self->limit), &limit)
        || !read_word(SLOT(ring, self->counter), &count) || submitted + entries > (self->edge ? self->edge : limit)
        || (self->counted ? count + entries >= NO_TASK  /* or: an entry asks the hardware to publish the head of the queue */
            : self->publishes && count % self->publishes + entries >= self->publishes)) {
        lock_give((Lock *)held[LOCK]);
        goto other;
    }
    uint16_t *numbers = self->numbers.buf;
    Py_ssize_t position = submitted % self->depth, second = position + 1 == (Py_ssize_t)self->depth ? 0 : position + 1;
    if (!(next = PyLong_FromUnsignedLongLong(submitted + entries))
        || !(counter = PyLong_FromUnsignedLongLong(count + entries))) goto failed;
    if (held[VALUE_OF] != Py_None) {
        PyObject *made = PyObject_CallOneArg(held[VALUE_OF], late);
        uint64_t value = 0;
        int fits = made && read_word(made, &value);
        for (const Word *word = self->word; fits && word < self->word + self->words; word++)
            fits = word->source == NUMBER || put(row, word, value);
        if (made && !fits) PyErr_Format(PyExc_OverflowError, "%R does not fit the word of a task", made);
        Py_XDECREF(made);
        if (!fits) goto failed;
    }
    for (const Word *word = self->word; word < self->word + self->words; word++) {
        if (word->source != NUMBER) continue;
        number = count + word->offset / SQE_BYTES;
        if (!self->counted) {
            PyObject *serial = PyObject_CallNoArgs(held[SERIAL]);
            if (!serial) goto failed;
            if (!read_word(serial, &number)) number = UINT64_MAX;
            Py_DECREF(serial);
        }
        if (put(row, word, number)) continue;
        PyErr_SetString(PyExc_OverflowError, "the number of a task does not fit its word");
        goto failed;
    }
    if (self->edge && !(self->counted ? fill_record(self, pair, count, 0, submitted, Py_None, values[0])
                                      : fill_record(self, pair, submitted, number, submitted, counter, values[0]))) goto failed;
    numbers[position] = (uint16_t)(self->counted ? count : (uint64_t)position);
    old[olds++] = swap(held[OWNERS], position, held[INFO]);
    if (entries == 2) {
        numbers[second] = (uint16_t)(self->counted ? count + 1 : (uint64_t)second);
        old[olds++] = swap(held[OWNERS], second, held[INFO_2]);
    }
    memcpy(self->staging.buf, row, entries * SQE_BYTES);
    if (self->carries == KEPT) old[olds++] = swap(held[CARRIED], position, carry);
    if (pair && !self->edge) {
        PyTuple_SET_ITEM(pair, 0, Py_NewRef(next));
        PyTuple_SET_ITEM(pair, 1, Py_NewRef(carry));
        if (!hand(held[CARRIED], pair)) goto failed;
        Py_CLEAR(pair);
    }
    long long rc = ring_driver(self);
    if (rc > 0) {
        PyObject *code = PyLong_FromLongLong(rc);
        rc = code && hand(held[AGAIN], code) ? 0 : -1;
        Py_XDECREF(code);
    }
    if (rc < 0 || (self->edge && !hand(held[CARRIED], pair))) goto failed;
    if (self->carries == ARGUMENTS) old[olds++] = swap(held[CARRIED], position, carry);
    SET_SLOT(ring, self->submitted, Py_NewRef(next));
    SET_SLOT(ring, self->counter, counter);
    if (held[HOLDER] != Py_None) SET_SLOT(held[HOLDER], self->end, Py_NewRef(next));
    lock_give((Lock *)held[LOCK]);
    while (olds) Py_XDECREF(old[--olds]);
    Py_XDECREF(pair);
    if (!self->edge && (submitted + entries) % TICK < (uint64_t)entries && !hand(held[TICKED], NULL)) Py_CLEAR(next);
    return next;

other:
    return Py_XDECREF(pair), NULL;
failed:  /* the repair lets the lock go */
    broken_off(self, self->edge && PyTuple_GET_ITEM(pair, 0) ? pair : carry);
    while (olds) Py_XDECREF(old[--olds]);
    return Py_XDECREF(pair), Py_XDECREF(next), Py_XDECREF(counter), NULL;
}

static PyObject *answer(const Send *self, PyObject *submitted) {
    return self->falls_back ? (Py_DECREF(submitted), Py_NewRef(Py_None)) : submitted;
}

static PyObject *send_call(Send *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Py_ssize_t given = PyVectorcall_NARGS(nargsf), parameters = self->parameters;
    uint64_t values[MOST_PARAMETERS];
    if (kwnames || given < parameters || given > parameters + (self->carries % RECORDED > NOTHING)) goto other;
    if (self->held[VALUE_OF] == Py_None)
        for (Py_ssize_t n = 0; n < parameters; n++)
            if (!read_word(args[n], &values[n])) goto other;
    PyObject *sent = send_core(self, values, parameters ? args[0] : NULL, given > parameters ? args[parameters] : Py_None);
    if (sent) return answer(self, sent);
    if (PyErr_Occurred()) return NULL;
other:
    return call_slow(self->slow, args, nargsf, kwnames);
}

static int read_words(Send *self, const char *packed, Py_ssize_t size) {
    if (size % (Py_ssize_t)sizeof(Word) || size > (Py_ssize_t)sizeof self->word) return 0;
    memcpy(self->word, packed, size);
    self->words = (int)(size / (Py_ssize_t)sizeof(Word));
    for (const Word *word = self->word; word < self->word + self->words; word++)
        if (word->bytes > 8 || word->offset + word->bytes > self->entries * SQE_BYTES
            || (word->source != NUMBER && word->source >= self->parameters)) return 0;
    return 1;
}

static PyObject *send_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {
        "slow", "held", "members", "counted", "entries", "parameters", "carries", "falls_back", "row", "words",
        "driver", "device", "info", "info_address", "publishes", "edge", NULL};
    PyObject *slow, *held, *members;
    int counted, entries, parameters, carries, falls_back;
    const char *row, *words;
    Py_ssize_t row_size, words_size, info_address;
    unsigned long long driver, info, publishes, edge;
    unsigned device;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O!piiipy#y#KIKnKK:Send", names, &slow, &PyTuple_Type, &held,
                                     &PyTuple_Type, &members, &counted, &entries, &parameters, &carries, &falls_back, &row,
                                     &row_size, &words, &words_size, &driver, &device, &info, &info_address, &publishes, &edge))
        return NULL;
    Send *self = (Send *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    Py_ssize_t *offsets[] = {&self->submitted, &self->limit, &self->counter, &self->blocked,
                             &self->closed, &self->end, &self->base, &self->tail};
    self->call = (vectorcallfunc)send_call;
    self->slow = Py_NewRef(slow);
    self->counted = counted, self->entries = entries, self->parameters = parameters, self->carries = carries;
    self->falls_back = falls_back, self->driver = (Driver)(uintptr_t)driver, self->device = device;
    self->info = (char *)(uintptr_t)info, self->info_address = info_address, self->publishes = publishes, self->edge = edge;
    if (PyTuple_GET_SIZE(held) != SEND_HELD || PyTuple_GET_SIZE(members) != 8 || entries < 1 || entries > 2
        || row_size != entries * SQE_BYTES || parameters > MOST_PARAMETERS || !read_words(self, words, words_size)
        || !Py_IS_TYPE(PyTuple_GET_ITEM(held, LOCK), &LockType) || !PyList_CheckExact(PyTuple_GET_ITEM(held, OWNERS))
        || ((carries == ARGUMENTS || carries == KEPT) && !PyList_CheckExact(PyTuple_GET_ITEM(held, CARRIED)))
        || (carries == RECORDED) != (edge > 0) || (edge && (entries > 1 || !parameters))) goto wrong;
    memcpy(self->row, row, row_size);
    for (int n = 0; n < SEND_HELD; n++) self->held[n] = Py_NewRef(PyTuple_GET_ITEM(held, n));
    for (int n = 0; n < 8; n++) {
        PyObject *member = PyTuple_GET_ITEM(members, n);
        if (member != Py_None && (*offsets[n] = member_offset(member)) < 0) goto failed;
    }
    self->depth = PyList_GET_SIZE(self->held[OWNERS]);
    if (PyObject_GetBuffer(self->held[NUMBERS], &self->numbers, PyBUF_WRITABLE) < 0
        || PyObject_GetBuffer(self->held[STAGING], &self->staging, PyBUF_WRITABLE) < 0) goto failed;
    if (self->numbers.len >= (Py_ssize_t)self->depth * 2 && self->staging.len >= row_size) return (PyObject *)self;
wrong:
    PyErr_SetString(PyExc_ValueError, "Send() was given facts that do not belong together");
failed:
    Py_DECREF(self);
    return NULL;
}

HELD_FUNCTIONS(send, Send, SEND_HELD, (PyBuffer_Release(&self->numbers), PyBuffer_Release(&self->staging)))
HELD_TYPE(SendType, Send, send, "A prepared send of one or two entries; see runtime.core.submission.compiled.");

/* -- arguments of kernels -------------------------------------------------------------------------------------------- */

static struct { PyTypeObject *type; Py_ssize_t word; } buffer;  /* the class, and its slot with the address */
static PyObject *stream_name, *scalars;  /* NumPy types: where the value stands, how long it is, whether it is a short float */

/* The address of a buffer, whose slot has the tag of its Runtime above the 64 bits; 0 for one of another Runtime. */
static inline int buffer_word(PyObject *kept, PyObject *tag, uint64_t *word) {
    if (tag == Py_None) return read_word(kept, word);
    PyObject *own = kept ? PyNumber_Subtract(kept, tag) : NULL;
    int fits = read_word(own, word);
    if (!own) PyErr_Clear();
    return Py_XDECREF(own), fits;
}

/* The word of an argument that plainly takes one slot; 0 where the Python function has to look. */
static inline int argument_word(PyObject *value, PyObject *tag, uint64_t *word) {
    PyTypeObject *type = Py_TYPE(value);
    if (PyLong_CheckExact(value)) return read_word(value, word);
    if (PyType_IsSubtype(type, buffer.type)) return buffer_word(SLOT(value, buffer.word), tag, word);
    if (PyBool_Check(value)) return *word = value == Py_True, 1;
    PyObject *known = PyDict_GetItemWithError(scalars, (PyObject *)type);
    if (!known) return PyErr_Clear(), 0;
    const char *facts = PyBytes_AS_STRING(known);
    *word = 0;
    memcpy(word, (char *)value + facts[0], facts[1]);
    /* a NaN of less than 64 bits does not survive struct, so that Python takes another way */
    uint64_t exponent = facts[2] ? (facts[1] == 4 ? 0x7F800000 : 0x7C00) : 0;
    return !exponent || (*word & exponent) != exponent;
}

/* -- a launch with arguments from the host --------------------------------------------------------------------------- */

enum { SEND_OF, FREE, MOVE, REFUSED, TAG, LAUNCH_HELD };

typedef uint32_t (*Chained)(void *, int);                               /* halMemcpySumbit */
typedef uint32_t (*Copied)(uint64_t, uint64_t, uint64_t, uint64_t);      /* drvMemcpy */

typedef struct {
    HELD_HEAD
    PyObject *held[LAUNCH_HELD];
    void *mover;               /* NULL where the driver is a Python function, or the host stores */
    Py_ssize_t ends, address;  /* offsets of slots of a block */
    int count, before, bytes, unit, flag;
    Py_ssize_t copied;         /* bytes that drvMemcpy brings over; 0: a DMA chain has its own */
    uint64_t image[MOST_ARGUMENTS];  /* the words around the arguments */
} Launch;

/* Bring a filled block to the device; 0 with an exception. */
static int move(Launch *self, PyObject *block, uint64_t address, const uint64_t ends[2]) {
    long long rc = 0;
    if (self->mover) {
        Py_BEGIN_ALLOW_THREADS
        rc = self->copied ? ((Copied)self->mover)(address, self->copied, ends[0], self->copied)
                          : ((Chained)self->mover)((void *)(uintptr_t)ends[1], self->flag);
        Py_END_ALLOW_THREADS
    } else if (self->held[MOVE] != Py_None) {
        PyObject *done = PyObject_CallOneArg(self->held[MOVE], block);
        if (!done) return 0;
        rc = PyLong_AsLongLong(done);
        Py_DECREF(done);
    }
    if (!rc) return 1;
    if (PyErr_Occurred()) return 0;
    PyObject *code = PyLong_FromLongLong(rc);
    if (code) hand(self->held[REFUSED], code), Py_DECREF(code);
    return 0;
}

static PyObject *launch_core(Launch *self, PyObject *const *args, Py_ssize_t given) {
    PyObject *free = self->held[FREE], *sent;
    Send *send = (Send *)self->held[SEND_OF];
    uint64_t words[MOST_ARGUMENTS], ends[2], address;
    if (given != self->count) goto other;
    memcpy(words, self->image, self->bytes);
    for (Py_ssize_t n = 0; n < given; n++)
        if (!argument_word(args[n], self->held[TAG], &words[self->before + n])) goto other;
    Py_ssize_t blocks = PyList_GET_SIZE(free);
    if (!blocks) goto other;
    PyObject *block = PyList_GET_ITEM(free, blocks - 1);
    if (!read_word(SLOT(block, self->address), &address)) goto other;
    Py_SET_SIZE(free, blocks - 1);  /* the reference is ours now */
    memcpy(ends, PyBytes_AS_STRING(SLOT(block, self->ends)), sizeof ends);
    char *to = (char *)(uintptr_t)ends[0];
    if (self->unit == 1) memcpy(to, words, self->bytes);
    else
        for (int at = 0; at < self->bytes; at += STORE_BYTES) memcpy(to + at, (char *)words + at, STORE_BYTES);
    if (!move(self, block, address, ends)) {
        PyList_Append(free, block);  /* where there was space for it */
        return Py_DECREF(block), NULL;
    }
    sent = send_core(send, &address, NULL, block);
    PyObject *both[] = {SLOT(block, self->address), block};
    if (sent) sent = answer(send, sent);
    else if (!PyErr_Occurred()) sent = PyObject_Vectorcall(send->slow, both, 2, NULL);
    Py_DECREF(block);
    return sent;
other:
    return PyObject_Vectorcall(self->slow, args, given, NULL);
}

static PyObject *launch_call(Launch *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    return kwnames ? call_slow(self->slow, args, nargsf, kwnames) : launch_core(self, args, PyVectorcall_NARGS(nargsf));
}

static PyObject *launch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"slow", "held", "members", "mover", "flag", "copied", "count", "before", "image", "unit", NULL};
    PyObject *slow, *held, *members;
    unsigned long long mover;
    int flag, count, before, unit;
    const char *image;
    Py_ssize_t size, copied;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O!Kiniiy#i:Launch", names, &slow, &PyTuple_Type, &held, &PyTuple_Type,
                                     &members, &mover, &flag, &copied, &count, &before, &image, &size, &unit)) return NULL;
    if (PyTuple_GET_SIZE(held) != LAUNCH_HELD || PyTuple_GET_SIZE(members) != 2 || size > (Py_ssize_t)sizeof(uint64_t[MOST_ARGUMENTS])
        || size % unit || (before + count) * (Py_ssize_t)sizeof(uint64_t) > size || !Py_IS_TYPE(PyTuple_GET_ITEM(held, SEND_OF), &SendType)
        || !PyList_CheckExact(PyTuple_GET_ITEM(held, FREE))) {
        PyErr_SetString(PyExc_ValueError, "Launch() was given facts that do not belong together");
        return NULL;
    }
    Launch *self = (Launch *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = (vectorcallfunc)launch_call;
    self->slow = Py_NewRef(slow);
    for (int n = 0; n < LAUNCH_HELD; n++) self->held[n] = Py_NewRef(PyTuple_GET_ITEM(held, n));
    self->mover = (void *)(uintptr_t)mover, self->copied = copied, self->count = count, self->before = before, self->bytes = (int)size;
    self->unit = unit, self->flag = flag;
    memcpy(self->image, image, size);
    if ((self->ends = member_offset(PyTuple_GET_ITEM(members, 0))) < 0
        || (self->address = member_offset(PyTuple_GET_ITEM(members, 1))) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

HELD_FUNCTIONS(launch, Launch, LAUNCH_HELD, )
HELD_TYPE(LaunchType, Launch, launch, "A prepared launch with arguments from the host; see runtime.launch.compiled.");

/* -- kernel[blocks](..., stream=stream) ------------------------------------------------------------------------------ */

enum { MOST_KEYS = 16, KERNEL = MOST_KEYS, BLOCKS, GRID_HELD };

typedef struct {
    HELD_HEAD
    PyObject *held[GRID_HELD];  /* keys of what a stream has prepared, by the number of arguments; kernel and blocks */
    PyTypeObject *stream;
    Py_ssize_t launchers;
} Grid;

static PyObject *grid_call(Grid *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Py_ssize_t given = PyVectorcall_NARGS(nargsf);
    if (!kwnames || PyTuple_GET_SIZE(kwnames) != 1 || PyTuple_GET_ITEM(kwnames, 0) != stream_name || given >= MOST_KEYS
        || !PyObject_TypeCheck(args[given], self->stream)) goto other;
    if (!self->held[given] && !(self->held[given] = Py_BuildValue("(OOn)", self->held[KERNEL], self->held[BLOCKS], given)))
        return NULL;
    PyObject *prepared = SLOT(args[given], self->launchers), *go = NULL;
    if (prepared && PyDict_CheckExact(prepared)) go = PyDict_GetItemWithError(prepared, self->held[given]);
    if (!go) goto other;
    Py_INCREF(go);  /* the launch may be forgotten while it runs */
    PyObject *done = Py_IS_TYPE(go, &LaunchType) ? launch_core((Launch *)go, args, given)
                                                 : PyObject_Vectorcall(go, args, given, NULL);
    Py_DECREF(go);
    return done;
other:
    PyErr_Clear();
    return call_slow(self->slow, args, nargsf, kwnames);
}

static PyObject *grid_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"slow", "kernel", "blocks", "launchers", NULL};
    PyObject *slow, *kernel, *blocks, *member;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO:Grid", names, &slow, &kernel, &blocks, &member)) return NULL;
    Py_ssize_t launchers = member_offset(member);
    Grid *self = launchers < 0 ? NULL : (Grid *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = (vectorcallfunc)grid_call;
    self->slow = Py_NewRef(slow);
    self->held[KERNEL] = Py_NewRef(kernel), self->held[BLOCKS] = Py_NewRef(blocks);
    self->launchers = launchers, self->stream = PyDescr_TYPE(member);
    return (PyObject *)self;
}

HELD_FUNCTIONS(grid, Grid, GRID_HELD, )
HELD_TYPE(GridType, Grid, grid, "What kernel[blocks] returns; see runtime.launch.compiled.");

static PyObject *slow_subscript;  /* Kernel.__getitem__, the Python function */
static Py_ssize_t grids_offset;

static PyObject *find_grid(PyObject *kernel, PyObject *blocks) {
    PyObject *grids = SLOT(kernel, grids_offset), *weak = NULL, *grid = NULL, *both[] = {kernel, blocks};
    if (PyLong_CheckExact(blocks) && grids && PyDict_CheckExact(grids)) weak = PyDict_GetItemWithError(grids, blocks);
#if PY_VERSION_HEX >= 0x030D0000
    if (weak && PyWeakref_GetRef(weak, &grid) < 0) return NULL;
#else
    if (weak && PyWeakref_GET_OBJECT(weak) != Py_None) grid = Py_NewRef(PyWeakref_GET_OBJECT(weak));
#endif
    return grid ? grid : PyObject_Vectorcall(slow_subscript, both, 2, NULL);
}

static PyMethodDef find_grid_method = {
    "__getitem__", find_grid, METH_O, "Return a function that launches on so many blocks; one that was asked for before."};

/* -- the module ------------------------------------------------------------------------------------------------------ */

static PyObject *buffers(PyObject *Py_UNUSED(module), PyObject *member) {
    Py_ssize_t offset = member_offset(member);
    if (offset < 0) return NULL;
    buffer.word = offset;
    Py_XSETREF(buffer.type, (PyTypeObject *)Py_NewRef(PyDescr_TYPE(member)));
    Py_RETURN_NONE;
}

static PyObject *subscript(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *slow, *grids;
    Py_ssize_t offset;
    if (!PyArg_ParseTuple(args, "OO", &slow, &grids) || (offset = member_offset(grids)) < 0) return NULL;
    grids_offset = offset;
    Py_XSETREF(slow_subscript, Py_NewRef(slow));
    return PyDescr_NewMethod(PyDescr_TYPE(grids), &find_grid_method);
}

static PyMethodDef functions[] = {
    {"subscript", subscript, METH_VARARGS, "Return __getitem__ of kernels, given the Python function and their grids."},
    {"buffers", buffers, METH_O, "Name the slot of buffers with the word that a launch gets."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "_send", .m_doc = "Prepared sends, compiled.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit__send(void) {
    PyTypeObject *types[] = {&LockType, &SendType, &LaunchType, &GridType};
    PyObject *made = PyModule_Create(&module);
    if (!made || !(scalars = PyDict_New()) || !(stream_name = PyUnicode_InternFromString("stream"))) return NULL;
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (PyModule_AddType(made, types[n]) < 0) return NULL;
    return PyModule_AddIntConstant(made, "REVISION", REVISION) < 0 || PyModule_AddObjectRef(made, "scalars", scalars) < 0
               ? NULL : made;
}
