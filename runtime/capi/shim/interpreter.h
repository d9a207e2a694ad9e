/* Functions of the process's Python, found by name once it is known which one that is, and the parts of a call.

   These functions have been there, with these types, since CPython 3.10. */

#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct object object; /* PyObject */

#define INTERPRETER(FUNCTION)                                                               \
    FUNCTION(int, Py_IsInitialized, (void))                                                 \
    FUNCTION(int, PyGILState_Ensure, (void))                                                \
    FUNCTION(void, PyGILState_Release, (int))                                               \
    FUNCTION(void *, PyGILState_GetThisThreadState, (void))                                 \
    FUNCTION(void *, PyEval_SaveThread, (void))                                             \
    FUNCTION(object *, PyEval_GetFrame, (void))                                             \
    FUNCTION(int, PyRun_SimpleString, (const char *))                                       \
    FUNCTION(int, Py_AddPendingCall, (int (*)(void *), void *))                             \
    FUNCTION(int, PyThreadState_SetAsyncExc, (unsigned long, object *))                     \
    FUNCTION(void, Py_IncRef, (object *))                                                   \
    FUNCTION(void, Py_DecRef, (object *)) /* both take NULL */                              \
    FUNCTION(object *, PyImport_ImportModule, (const char *))                               \
    FUNCTION(object *, PyObject_GetAttrString, (object *, const char *))                    \
    FUNCTION(object *, PyObject_CallFunctionObjArgs, (object *, ...)) /* up to NULL */      \
    FUNCTION(object *, PyObject_Type, (object *))                                           \
    FUNCTION(int, PyCallable_Check, (object *))                                             \
    FUNCTION(object *, PyLong_FromUnsignedLongLong, (unsigned long long))                   \
    FUNCTION(unsigned long long, PyLong_AsUnsignedLongLongMask, (object *))                 \
    FUNCTION(object *, PyList_New, (intptr_t))                                              \
    FUNCTION(intptr_t, PyList_Size, (object *))                                             \
    FUNCTION(object *, PyList_GetItem, (object *, intptr_t))                                \
    FUNCTION(int, PyList_Append, (object *, object *))                                      \
    FUNCTION(int, PySequence_DelItem, (object *, intptr_t))                                 \
    FUNCTION(void, PyErr_Fetch, (object **, object **, object **))                          \
    FUNCTION(void, PyErr_NormalizeException, (object **, object **, object **))             \
    FUNCTION(void, PyErr_Restore, (object *, object *, object *))                           \
    FUNCTION(int, PyErr_CheckSignals, (void))                                               \
    FUNCTION(void, PyErr_WriteUnraisable, (object *))                                       \
    FUNCTION(int, PyErr_GivenExceptionMatches, (object *, object *))                        \
    FUNCTION(int, PyException_SetTraceback, (object *, object *))                           \
    FUNCTION(object *, PyException_GetTraceback, (object *))

typedef struct {
#define FUNCTION(result, name, takes) result(*name) takes;
    INTERPRETER(FUNCTION)
    object **PyExc_Exception;
#undef FUNCTION
} interpreter;

extern interpreter npuhal_python;

typedef enum { CALL, WAIT, START } npuhal_kind; /* START: nothing may break it off */

/* All of these with the interpreter's lock held: */
void npuhal_interrupts_begin(void);          /* once, where the interpreter is the program's */
int npuhal_call_begins(npuhal_kind kind);    /* whether `npuhal_call_ends` has to follow */
void npuhal_call_ends(void);
int npuhal_interrupted(void);                /* whether an exception waits to be raised in the program */
object *npuhal_fetch(void);                  /* take the exception that is set; NULL: none */
void npuhal_raise_behind(object *problem);   /* let the Python code of the thread meet an exception behind the call */
