import { findTool } from '../../inference/audio/find-tool.ts';
import type { Snapshot } from '../../inference/pipeline/services.ts';
import { capabilitiesOf } from '../capabilities.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Who answers for each thing that callers can ask for; what nobody really does is a warning with its fix. */
export function capabilityFindings(snapshot: Snapshot): Finding[] {
  return capabilitiesOf(snapshot).map(({ name, state, by, fix }): Finding => {
    const message = `${state}: ${by}`;
    if (state === 'real' || state === 'local') return ok(name, fix === null ? message : `${message}, ${fix}`);
    return warning(name, message, fix ?? 'culvert check --live says what is wrong.');
  });
}

/** What sound is converted with. */
export function toolFindings(searchPath: string): Finding[] {
  if (findTool('ffmpeg', searchPath) !== null) return [ok('ffmpeg', 'installed')];
  const without = 'mp3, opus and aac are had from providers that give them alone, and engines hear wav alone';
  return [warning('ffmpeg', `not installed: ${without}`, 'Install ffmpeg (apt install ffmpeg).')];
}
