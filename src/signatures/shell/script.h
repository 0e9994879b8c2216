/*
 * script.h
 *		What a shell script does, by its first effective command.
 */
#ifndef STEPADV_SCRIPT_H
#define STEPADV_SCRIPT_H

#include "signatures/action.h"

extern void classify_script(Span script, Action *action);

#endif							/* STEPADV_SCRIPT_H */
