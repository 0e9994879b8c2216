#ifndef STEPADV_SCRIPT_H
#define STEPADV_SCRIPT_H

#include "signatures/effect.h"

extern void classify_script(Span script, Effects *effects);

#endif							/* STEPADV_SCRIPT_H */
