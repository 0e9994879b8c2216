/*
 * student.h
 *		Student's t distribution.
 */
#ifndef STEPADV_SUCCESS_STUDENT_H
#define STEPADV_SUCCESS_STUDENT_H

/* The t that lies with this probability between -t and t; freedom at least 1, confidence between 0 and 1. */
extern double student_bound(double confidence, double freedom);

#endif							/* STEPADV_SUCCESS_STUDENT_H */
