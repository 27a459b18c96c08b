import type { SessionStore } from '../../auth/session-store.ts';
import {
  type LoginTokenColumns,
  loginTokenOf,
  type SessionColumns,
  sessionOf,
  sessionValues,
} from '../session-rows.ts';
import type { Database } from './database.ts';
import { unavailable } from './unavailable.ts';

/** Sessions of the dashboard, shared by all replicas. */
export function createPostgresSessionStore({ keys, rest }: Pick<Database, 'keys' | 'rest'>): SessionStore {
  return {
    async open(session, keepMax) {
      await unavailable(
        rest.transaction('write', async (run) => {
          await run('DELETE FROM culvert.session WHERE ends_ms <= $1', [session.createdMs]);
          await run(insert, sessionValues(session));
          await run(dropSurplus, [session.credential, session.operator, keepMax]);
        }),
      );
    },
    async find(hash) {
      const { rows } = await unavailable(keys.run<SessionColumns>(find, [hash]));
      return rows[0] === undefined ? null : sessionOf(rows[0]);
    },
    async list() {
      const { rows } = await unavailable(rest.run<SessionColumns>(list));
      return rows.map(sessionOf);
    },
    async seen(id, atMs) {
      await unavailable(rest.run('UPDATE culvert.session SET seen_ms = $2 WHERE id = $1 AND seen_ms < $2', [id, atMs]));
    },
    async end(id) {
      const { changes } = await unavailable(rest.run('DELETE FROM culvert.session WHERE id = $1', [id]));
      return changes > 0;
    },
    async issueToken({ hash, credential, endsMs }) {
      await unavailable(rest.run('INSERT INTO culvert.login_token VALUES ($1, $2, $3)', [hash, credential, endsMs]));
    },
    async redeemToken(hash, nowMs) {
      await unavailable(rest.run('DELETE FROM culvert.login_token WHERE ends_ms <= $1', [nowMs]));
      const { rows } = await unavailable(rest.run<LoginTokenColumns>(redeem, [hash]));
      return rows[0] === undefined ? null : loginTokenOf(rows[0]);
    },
    async close() {},
  };
}

const insert = 'INSERT INTO culvert.session VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)';
const dropSurplus = `
  DELETE FROM culvert.session WHERE id IN (
    SELECT id FROM culvert.session
    WHERE credential IS NOT DISTINCT FROM $1::text AND operator IS NOT DISTINCT FROM $2::text
    ORDER BY created_ms DESC, id OFFSET $3
  )`;
/** One row, for which every click waits. */
const find = { name: 'session-find', text: 'SELECT * FROM culvert.session WHERE hash = $1', answerMaxMs: 1_000 };
const list = { name: 'session-list', text: 'SELECT * FROM culvert.session ORDER BY created_ms DESC, id' };
const redeem = 'DELETE FROM culvert.login_token WHERE hash = $1 RETURNING *';
