import { type AdminFlags, adminCall } from '../admin-client.ts';
import { overAdmin } from '../admin-entries.ts';
import type { CommandBody } from '../command-table.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';

/** `culvert secret …` */
export const secret: CommandBody = {
  example: 'culvert secret rotate',
  commands: {
    rotate: overAdmin({
      description:
        'seal stored credentials again, with the current storage.secret or with a new secret of the data folder',
      options: [
        [
          '--forget',
          'forget earlier secrets of the data folder, and lose what only they open: responses, files, batches, vector stores',
        ],
      ],
      example: 'culvert secret rotate',
      work: () => rotate,
    }),
  },
};

interface Rotated {
  source: 'configuration' | 'data folder';
  resealed: number;
  left: readonly string[];
  earlier: 'remembered' | 'forgotten' | 'none';
}

/** `culvert secret rotate`; 1 where something stays that no known secret opens. */
async function rotate(flags: AdminFlags & { forget?: boolean }, parts: CliParts): Promise<number> {
  const body = { forget: flags.forget === true };
  const reply = (await adminCall(flags, parts, 'POST', '/secret/rotate', { body })) as Rotated;
  const { source, resealed, left, earlier } = reply;
  if (listForm(flags) === 'json') printJson(reply);
  else {
    print(
      `Sealed again: ${resealed}, with ${source === 'configuration' ? 'storage.secret' : 'a new secret of the data folder'}.`,
    );
    if (earlier === 'remembered')
      print(
        `${source === 'configuration' ? 'Keep storage.earlier_secrets as long as something from before must be opened' : 'All else from before stays sealed by the earlier secrets, which the data folder remembers'}: responses, files, batches and vector stores (docs/admin-api.md, The secret).`,
      );
  }
  if (left.length > 0) note(`No secret known here opens ${left.join(', ')}. Remove them, and add them again.`);
  return left.length === 0 ? 0 : 1;
}
