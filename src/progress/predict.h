/*
 * predict.h
 *		What a sum of contributions says of an outcome.
 */
#ifndef STEPADV_PREDICT_H
#define STEPADV_PREDICT_H

/* The probability of these log-odds. */
extern double logistic(double log_odds);

#endif							/* STEPADV_PREDICT_H */
