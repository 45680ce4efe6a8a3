/* Function names and discriminators, as the compiler compares them with a profile's. */
#ifndef CSP_PROFGEN_LLVM_NAMES_H
#define CSP_PROFGEN_LLVM_NAMES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The GUID of a name: the first eight bytes of its MD5, little-endian. */
uint64_t csp_name_guid(const char *name, size_t length);
/* How much of a name is left without the suffixes that a profile does not keep: .llvm. and .part.
 * (.__uniq. stays, as the compiler keeps it too, unless a profile was read that has none). */
size_t csp_name_canonical(const char *name);
/* The same for a symbol that is compared with DWARF, which has none of the suffixes that splitting,
 * cloning and link-time optimisation add. */
size_t csp_name_canonical_symbol(const char *name);

/* A line's DWARF discriminator packs what tells its blocks apart (the base) and how many copies
 * unrolling and vectorising made of its code (the factor, at least 1). */
uint32_t csp_discriminator_base(uint32_t discriminator);
uint32_t csp_discriminator_factor(uint32_t discriminator);

#ifdef __cplusplus
}
#endif

#endif
