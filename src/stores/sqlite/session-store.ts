import type { SessionStore } from '../../auth/session-store.ts';
import {
  type LoginTokenColumns,
  loginTokenOf,
  type SessionColumns,
  sessionOf,
  sessionValues,
} from '../session-rows.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { transaction } from './transaction.ts';

/** Sessions of the dashboard in `culvert.db`. */
export function openSqliteSessionStore(file: string): SessionStore {
  const database = openCulvertDatabase(file, 'fsync');
  const insert = database.prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const dropOver = database.prepare('DELETE FROM session WHERE ends_ms <= ?');
  const dropSurplus = database.prepare(`
    DELETE FROM session WHERE id IN (
      SELECT id FROM session WHERE credential IS ? AND operator IS ? ORDER BY created_ms DESC, id LIMIT -1 OFFSET ?
    )`);
  const select = database.prepare('SELECT * FROM session WHERE hash = ?');
  const all = database.prepare('SELECT * FROM session ORDER BY created_ms DESC, id');
  const touch = database.prepare('UPDATE session SET seen_ms = ? WHERE id = ? AND seen_ms < ?');
  const remove = database.prepare('DELETE FROM session WHERE id = ?');
  const insertToken = database.prepare('INSERT INTO login_token VALUES (?, ?, ?)');
  const dropTokens = database.prepare('DELETE FROM login_token WHERE ends_ms <= ?');
  const redeem = database.prepare('DELETE FROM login_token WHERE hash = ? AND ends_ms > ? RETURNING *');

  return {
    async open(session, keepMax) {
      await transaction(database, () => {
        dropOver.run(session.createdMs);
        insert.run(...sessionValues(session));
        dropSurplus.run(session.credential, session.operator, keepMax);
      });
    },
    async find(hash) {
      const row = select.get(hash);
      return row === undefined ? null : sessionOf(row as unknown as SessionColumns);
    },
    async list() {
      return (all.all() as unknown as SessionColumns[]).map(sessionOf);
    },
    async seen(id, atMs) {
      await transaction(database, () => touch.run(atMs, id, atMs));
    },
    end: (id) => transaction(database, () => remove.run(id).changes > 0),
    async issueToken({ hash, credential, endsMs }) {
      await transaction(database, () => insertToken.run(hash, credential, endsMs));
    },
    async redeemToken(hash, nowMs) {
      const row = await transaction(database, () => {
        dropTokens.run(nowMs);
        return redeem.get(hash, nowMs);
      });
      return row === undefined ? null : loginTokenOf(row as unknown as LoginTokenColumns);
    },
    async close() {
      database.close();
    },
  };
}
