#ifndef STEPADV_PATCH_H
#define STEPADV_PATCH_H

#include "signatures/effect.h"

extern void classify_patch(Span patch, Effects *effects);

#endif							/* STEPADV_PATCH_H */
