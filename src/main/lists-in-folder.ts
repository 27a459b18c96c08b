import { statSync } from 'node:fs';
import type { SnapshotParts } from '../inference/models/keep-snapshot.ts';
import type { Seat } from '../processes/worker-seat.ts';
import { type DataFolder, readIfThere, replaceFile } from '../stores/sqlite/data-folder.ts';
import type { GatewayOptions } from './gateway-options.ts';

/** Lists of models and prices that earlier processes wrote. */
export function listsInFolder(
  { modelsFile, pricesFile }: Pick<DataFolder, 'modelsFile' | 'pricesFile'>,
  { log, seat }: { log: Pick<GatewayOptions['log'], 'warn'>; seat?: Seat },
): Pick<SnapshotParts, 'models' | 'prices'> {
  // Several workers would write into each other's files.
  const isWriter = seat === undefined || seat.given.number === 1;
  return {
    models: {
      recall: () => readIfThere(modelsFile) ?? null,
      keep(text) {
        if (!isWriter) return;
        try {
          replaceFile(modelsFile, text);
        } catch (error) {
          // Only the next start would miss it.
          log.warn({ error: String(error) }, 'the lists of models could not be stored');
        }
      },
    },
    prices: {
      name: pricesFile,
      read: () => readIfThere(pricesFile),
      write: (text) => (isWriter ? replaceFile(pricesFile, text) : undefined),
      writtenMs: () => statSync(pricesFile, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY,
    },
  };
}
