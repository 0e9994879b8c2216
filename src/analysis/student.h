/*
 * student.h
 *		Student's t distribution.
 */
#ifndef STEPADV_SUCCESS_STUDENT_H
#define STEPADV_SUCCESS_STUDENT_H

/* The bound t: a value is between -t and t with this probability; freedom at least 1, confidence between 0 and 1. */
extern double student_bound(double confidence, double freedom);

#endif							/* STEPADV_SUCCESS_STUDENT_H */
