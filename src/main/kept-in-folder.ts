import { statSync } from 'node:fs';
import type { SnapshotParts } from '../inference/models/keep-snapshot.ts';
import { type DataFolder, readIfThere, replaceFile } from '../stores/sqlite/data-folder.ts';
import type { GatewayOptions } from './gateway-options.ts';

/** Lists of models and prices that earlier processes wrote. */
export function keptIn(
  { modelsFile, pricesFile }: Pick<DataFolder, 'modelsFile' | 'pricesFile'>,
  log: Pick<GatewayOptions['log'], 'warn'>,
): Pick<SnapshotParts, 'models' | 'prices'> {
  return {
    models: {
      recall: () => readIfThere(modelsFile) ?? null,
      keep(text) {
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
      write: (text) => replaceFile(pricesFile, text),
      writtenMs: () => statSync(pricesFile, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY,
    },
  };
}
