/* CHECK_FOR_INTERRUPTS is in postgres.h here. */
