import { statSync } from 'node:fs';
import type { ExtrasFolder } from './extras-folder.ts';
import { AddFailed, defaultModelHost, type HostedModel } from './model-host.ts';
import type { ModelManifest } from './model-manifest.ts';

/**
 * The model as an operator has copied it into its folder; asks no other machine. Throws AddFailed that names the missing
 * files.
 */
export function modelAtHand(folder: ExtrasFolder, manifest: ModelManifest): HostedModel {
  const files = manifest.files.map(({ path, sha256 }) => ({
    path,
    url: `${defaultModelHost}/${manifest.repository}/resolve/${manifest.revision}/${path}`,
    bytes: statSync(folder.file(manifest.id, path), { throwIfNoEntry: false })?.size ?? 0,
    digest: sha256 === null ? null : ({ kind: 'sha256', hex: sha256, from: 'culvert' } as const),
  }));
  const missing = files.filter(({ bytes }) => bytes === 0);
  if (missing.length > 0) {
    throw new AddFailed(
      [
        `${missing.length} of ${files.length} files of ${manifest.id} are missing in ${folder.model(manifest.id)}. Copy them there from a machine with internet:`,
        ...missing.map(({ path, url }) => `  ${url}  ->  ${path}`),
      ].join('\n'),
    );
  }
  return { commit: null, files };
}
