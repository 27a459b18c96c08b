import type { Config } from '../../config/schema.ts';
import { findTool } from '../../engines/audio/find-tool.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { culvert } from '../../kernel/command-form.ts';
import { installCommand } from '../../kernel/optional-package.ts';
import { findChromium } from '../../tools/render/find-chromium.ts';
import { playwrightInstalled } from '../../tools/render/load-playwright.ts';
import { capabilitiesOf } from '../capabilities.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Finds who answers for each capability. One that only the simulator serves, or nobody, is a warning with its fix. */
export function capabilityFindings(snapshot: Snapshot): Finding[] {
  return capabilitiesOf(snapshot).map(({ name, state, by, fix }): Finding => {
    const message = `${state}: ${by}`;
    if (state === 'real' || state === 'local') return ok(name, fix === null ? message : `${message}; ${fix}`);
    return warning(name, message, fix ?? `${culvert} check --live says what is wrong.`);
  });
}

/** Programs that do what Culvert alone cannot: convert sound, draw pages. */
export function toolFindings(searchPath: string, config: Config): Finding[] {
  return [ffmpegFinding(searchPath), chromiumFinding(config.tools.scrape)];
}

function ffmpegFinding(searchPath: string): Finding {
  if (findTool('ffmpeg', searchPath) !== null) return ok('ffmpeg', 'installed');
  const without = 'mp3, opus and aac come only from providers that offer them, and engines read only wav';
  return warning('ffmpeg', `not installed: ${without}`, 'Install ffmpeg (apt install ffmpeg).');
}

/** Plain pages need no browser. A missing browser is a problem only when the configuration names it. */
function chromiumFinding({ render, chromium: named }: Config['tools']['scrape']): Finding {
  const found = findChromium(named);
  if (found !== null && !playwrightInstalled()) {
    const message = `${found}, but the package playwright-core, which drives it, is not installed`;
    return warning('chromium', message, `Run ${installCommand('playwright-core')}.`);
  }
  if (found !== null)
    return ok('chromium', render === 'never' ? `${found}, not used: tools.scrape.render is never` : found);
  const install = 'Install Chromium (apt install chromium), or correct tools.scrape.chromium.';
  if (named !== undefined)
    return warning('chromium', 'tools.scrape.chromium names a file that does not exist', install);
  const without = 'not installed: pages that scripts make are given as they were sent, and screenshots return 501';
  return render === 'always' ? warning('chromium', without, install) : ok('chromium', without);
}
