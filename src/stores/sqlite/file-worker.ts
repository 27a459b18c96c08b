import { basename } from 'node:path';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { answerOrders } from '../../kernel/threads/thread-port.ts';
import { laterMigrations } from './culvert-schema.ts';
import { damageOf } from './integrity.ts';
import { migrateWithCopy, openMigrated } from './migrations.ts';
import { storageSizes } from './storage-sizes.ts';

yieldToMainThread();

/** Work at a whole database, or at all of a folder, which may take minutes. */
const works = {
  check: (file: string) => damageOf(file, 'quick'),
  sizes: (folder: string, nowMs: number) => storageSizes(folder, nowMs),
  migrate(file: string) {
    const migrations = laterMigrations[basename(file)] ?? [];
    openMigrated(file, 'fsync', (database) => migrateWithCopy(database, migrations)).close();
    return null;
  },
};

answerOrders(({ file, work, nowMs }: { id: number; file: string; work: keyof typeof works; nowMs: number }) =>
  works[work](file, nowMs),
);
