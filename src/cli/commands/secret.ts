import type { SealedCounts, SealedPlace, SealedStep } from '../../books/metering/sealed-columns.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../admin-client.ts';
import { overAdmin } from '../admin-entries.ts';
import type { CommandBody, OptionEntry } from '../command-table.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import type { Progress } from '../progress.ts';

type Flags = AdminFlags & { forget?: boolean };
type What = 'rotate' | 'reseal' | 'status';
type Pass = { kinds: SealedCounts[]; secret: string | undefined };
type Rotated = { left: readonly string[]; earlier: 'remembered' | 'forgotten' | 'none' };

const entry = (what: What, description: string, options: readonly OptionEntry[] = []) =>
  overAdmin({
    description,
    options,
    example: `culvert secret ${what}`,
    work: () => (flags: Flags, parts: CliParts) => run(what, flags, parts),
  });

const forget: OptionEntry = [
  '--forget',
  'then forget earlier secrets of the data folder, which ends what clients hold',
];

export const secret: CommandBody = {
  example: 'culvert secret rotate',
  commands: {
    rotate: entry('rotate', 'seal all that is kept with storage.secret, or a new secret of the data folder', [forget]),
    reseal: entry('reseal', 'seal what earlier secrets sealed, such as after a rotation that was broken off', [forget]),
    status: entry('status', 'count what the current secret and earlier ones have sealed'),
  },
};

const passesMax = 4;

/** Exits with 1 where an earlier secret is needed, or something stays that no known secret opens. */
function run(what: What, flags: Flags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin, progress) => {
    const rotate = (body: object) => admin.request('POST', '/secret/rotate', { body }) as Promise<Rotated>;
    let rotated = what === 'rotate' ? await rotate({}) : null;
    const mode = what === 'status' ? 'look' : 'seal';
    let last = await pass(admin, mode, progress);
    const { kinds } = last;
    // What was written while the first pass ran may have been sealed before the new secret came.
    for (let passes = 1; mode === 'seal' && earlierIn(last.kinds) > 0 && passes < passesMax; passes++)
      last = await pass(admin, mode, progress);
    const needed = earlierIn(last.kinds) > 0;
    if (flags.forget === true && !needed && (rotated?.left.length ?? 0) === 0)
      rotated = { ...rotated, ...(await rotate({ renew: false, forget: true, secret: last.secret })) };
    progress.end();
    if (listForm(flags) === 'json') printJson({ ...rotated, kinds, needed });
    else for (const line of described(kinds, needed, what, rotated)) print(line);
    const left = rotated?.left ?? [];
    if (left.length > 0) note(`No secret known here opens ${left.join(', ')}. Remove them, and add them again.`);
    return needed || left.length > 0 ? 1 : 0;
  });
}

/** All counts, and the name of the secret that was current when it began. */
async function pass(admin: AdminClient, mode: 'look' | 'seal', progress: Progress): Promise<Pass> {
  let first: string | undefined;
  const all = new Map<string, SealedCounts>();
  progress.at(mode === 'seal' ? 'sealing anew' : 'looking at what is sealed');
  for (let from: SealedPlace | null = null; ; ) {
    const reply = await admin.request('POST', '/secret/reseal', { body: { from, mode } });
    const { kinds, next, secret } = reply as Awaited<ReturnType<SealedStep>> & { secret?: string };
    first ??= secret;
    for (const { kind, current, earlier, lost } of kinds) {
      const sum = all.get(kind) ?? { kind, current: 0, earlier: 0, lost: 0 };
      all.set(kind, { kind, current: sum.current + current, earlier: sum.earlier + earlier, lost: sum.lost + lost });
    }
    if (next === null) return { kinds: [...all.values()], secret: first };
    from = next;
  }
}

function earlierIn(kinds: readonly SealedCounts[]): number {
  return kinds.reduce((sum, { earlier }) => sum + earlier, 0);
}

function described(kinds: readonly SealedCounts[], needed: boolean, what: What, rotated: Rotated | null): string[] {
  const lines = kinds.map(
    ({ kind, current, earlier, lost }) =>
      `${kind}: the current secret had sealed ${current}, earlier ones ${earlier}, and none known here ${lost}.`,
  );
  if (needed) return [...lines, 'Earlier secrets are needed: culvert secret reseal seals anew what they sealed.'];
  if (rotated?.earlier === 'forgotten') return [...lines, 'Earlier secrets are forgotten.'];
  const nothing = what === 'status' ? 'Apart from credentials and logins, nothing' : 'Nothing';
  return [
    ...lines,
    `${nothing} that is kept needs an earlier secret: it may be removed (docs/admin-api.md, The secret).`,
  ];
}
