import type { LoginTokenRow, SessionRow } from '../auth/session-store.ts';

/** Tables of sessions; the same names in every driver. Times are wall-clock ms. */
export interface SessionColumns {
  id: string;
  hash: string;
  login: SessionRow['login'];
  credential: string | null;
  operator: string | null;
  address: string;
  agent: string;
  created_ms: number;
  seen_ms: number;
  ends_ms: number;
}

export interface LoginTokenColumns {
  hash: string;
  credential: string;
  ends_ms: number;
}

/** In the order of the table's columns. */
export function sessionValues(row: SessionRow): (string | number | null)[] {
  const { id, hash, login, credential, operator, address, agent, createdMs, seenMs, endsMs } = row;
  return [id, hash, login, credential, operator, address, agent, createdMs, seenMs, endsMs];
}

export function sessionOf(row: SessionColumns): SessionRow {
  const { id, hash, login, credential, operator, address, agent } = row;
  return {
    id,
    hash,
    login,
    credential,
    operator,
    address,
    agent,
    createdMs: row.created_ms,
    seenMs: row.seen_ms,
    endsMs: row.ends_ms,
  };
}

export function loginTokenOf({ hash, credential, ends_ms }: LoginTokenColumns): LoginTokenRow {
  return { hash, credential, endsMs: ends_ms };
}
