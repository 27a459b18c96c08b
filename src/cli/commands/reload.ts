import { type AdminFlags, AdminRefused, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { note, print, printJson } from '../print.ts';

interface Reloaded {
  ok: boolean;
  /** The server's own file. */
  file: string | null;
  /** Settings that wait for the next start. */
  at_next_start: readonly string[];
  errors: readonly { line: number; column: number; path: string; message: string }[];
}

export interface ReloadFlags extends AdminFlags {
  /** Take a configuration that drops every declared key. */
  force?: boolean;
}

/** `culvert reload`: the running server reads its configuration again; one with errors changes nothing. */
export async function reload(flags: ReloadFlags, parts: CliParts): Promise<number> {
  const reply = await withAdmin(flags, parts, async (admin): Promise<Reloaded> => {
    if (admin.server === null) throw new CommandFailed('No server runs here, so there is nothing to reload.');
    const { errors, at_next_start = [] } = await admin
      .request('POST', '/config/reload', flags.force ? { body: { force: true } } : {})
      .then((answer) => ({ errors: [], ...(answer as Partial<Pick<Reloaded, 'at_next_start'>>) }))
      .catch((error: unknown) => {
        const found = error instanceof AdminRefused ? errorsIn(error.text) : null;
        if (found === null) throw error;
        return { errors: found, at_next_start: [] };
      });
    const { file } = (await admin.request('GET', '/config')) as Pick<Reloaded, 'file'>;
    return { ok: errors.length === 0, file, errors, at_next_start };
  });
  if (flags.json) printJson(reply);
  else if (reply.ok) {
    print('The configuration was reloaded.');
    for (const setting of reply.at_next_start) note(`warning: ${setting} changed: it takes effect at the next start.`);
  } else {
    for (const { line, column, path, message } of reply.errors)
      note(`${reply.file ?? 'culvert.yaml'}:${line}:${column} ${path === '' ? message : `${path}: ${message}`}`);
    note('The old configuration stays in use.');
  }
  return reply.ok ? 0 : 1;
}

/** The list of errors in a refusal; null when it is a refusal of another kind. */
function errorsIn(text: string): Reloaded['errors'] | null {
  try {
    const { errors } = JSON.parse(text) as Partial<Reloaded>;
    return Array.isArray(errors) ? errors : null;
  } catch {
    return null;
  }
}
