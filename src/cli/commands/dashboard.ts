import { spawn } from 'node:child_process';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CommandBody } from '../command-table.ts';
import { adminOptions } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { note, print } from '../print.ts';

export const dashboard: CommandBody = {
  options: [['--print', 'print the link, and open no browser'], ...adminOptions],
  example: 'culvert dashboard',
  work: () => openDashboard,
};

interface DashboardFlags extends AdminFlags {
  print?: boolean;
}

/** `culvert dashboard`: a login link, which works once and for ten minutes, in the browser of this machine. */
async function openDashboard(flags: DashboardFlags, parts: CliParts): Promise<number> {
  const link = await withAdmin(flags, parts, async (admin) => {
    if (admin.server === null) {
      throw new CommandFailed(
        'No server runs here, or its admin API does not answer. Start one; it prints a login link.',
      );
    }
    const { path } = (await admin.request('POST', '/login-links')) as { path: string };
    return admin.server + path;
  });
  if (flags.json === true) print(JSON.stringify({ url: link }));
  else if (flags.print === true || !(await opened(link))) print(link);
  else note('The dashboard is open in your browser. The login link worked once and no longer works.');
  return 0;
}

/**
 * Users without a screen, as over ssh, get the link instead. The command waits no longer for the first output of a
 * browser.
 */
const openMaxMs = 3_000;

async function opened(link: string): Promise<boolean> {
  const opener = openerHere();
  if (opener === null || process.stdout.isTTY !== true) return false;
  return new Promise((resolve) => {
    // No shell: the link stays one word. It is single-use, as it shows in the list of processes for a moment.
    const child = spawn(opener[0], [...opener.slice(1), link], { stdio: 'ignore', detached: true });
    const timer = setTimeout(() => resolve(true), openMaxMs);
    const end = (worked: boolean) => {
      clearTimeout(timer);
      resolve(worked);
    };
    child.on('error', () => end(false));
    child.on('exit', (code) => end(code === 0));
    child.unref();
  });
}

function openerHere(): readonly [string, ...string[]] | null {
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return process.env.DISPLAY || process.env.WAYLAND_DISPLAY ? ['xdg-open'] : null;
}
