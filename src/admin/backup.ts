import type { Records } from './directory.ts';
import { type Operation, textOperation } from './operation.ts';
import type { AdminParts } from './parts.ts';

/** `/backup`: everything, as `culvert backup` writes it and `culvert restore` reads it. For owners: it holds the secrets. */
export function backupOperations(parts: AdminParts, records: Records): Operation[] {
  return [
    textOperation({
      route: 'GET /backup',
      area: 'operators',
      access: 'write',
      summary:
        'Downloads a backup of the stores and the data folder, as culvert backup writes it. Only one runs at a time.',
      contentType: 'application/gzip',
      async run({ operator }) {
        const backup = await parts.backup();
        await records.note({ actor: operator.name, action: 'backup.download', subject: 'backup', after: null });
        return backup;
      },
    }),
  ];
}
