import type { Ddl } from './ddl.ts';

/** Feedback to requests. What results group by is copied from the request: a sum reads these rows alone. */
export const feedbackTable: Ddl = `
  CREATE TABLE @feedback (
    request_id CODE NOT NULL,
    metric TEXT NOT NULL,
    value REAL NOT NULL,
    is_boolean INTEGER NOT NULL,
    comment TEXT,
    at_ms WHOLE NOT NULL,
    account TEXT NOT NULL,
    alias TEXT NOT NULL,
    variant TEXT,
    request_ms WHOLE NOT NULL,
    PRIMARY KEY (request_id, metric)
  ) KEYED;
  CREATE INDEX feedback_alias ON @feedback (alias, request_ms);`;

/** Variants of models with `rollback: auto`. */
export const variantStateTable: Ddl = `
  CREATE TABLE @variant_state (
    alias TEXT NOT NULL,
    shape TEXT NOT NULL,
    variant TEXT NOT NULL,
    since_ms WHOLE NOT NULL,
    out_ms WHOLE,
    reason TEXT,
    PRIMARY KEY (alias, shape, variant)
  ) KEYED;`;
