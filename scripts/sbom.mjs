// node scripts/sbom.mjs FILE [--executable]: what dist/ holds, as a CycloneDX bill of materials; with --executable also Node
// and the optional peers. npm knows the packages, and the lists of licences which of them the bundle holds.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const developmentMark = 'cdx:npm:package:development';

/** The bill of materials of the bundle in `dist`. */
export function sbomOf(dist, { executable }) {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, shell: process.platform === 'win32' };
  const sbom = JSON.parse(
    execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--include=dev'], options),
  );
  const held = new Set([...listed(join(dist, 'LICENSES.txt')), ...listed(join(dist, 'web', 'LICENSES.txt'))]);
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const peers = executable ? peersHeld(peerDependencies) : [];
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  // By version too: a package of development may bring another one.
  for (const name of peers) held.add(`${name}@${packages[`node_modules/${name}`].version}`);
  const components = sbom.components.filter((component) => held.delete(component['bom-ref']));
  if (held.size > 0) throw new Error(`package-lock.json does not name ${[...held].join(', ')}, which dist/ holds.`);
  // Most are of development alone for npm, since nobody installs them: the bundle holds them.
  for (const component of components)
    component.properties = component.properties.filter(({ name }) => name !== developmentMark);
  const { component } = sbom.metadata;
  Object.assign(component, { type: 'application', name: 'culvert-gateway' });
  const refs = new Set([component['bom-ref'], ...components.map((one) => one['bom-ref'])]);
  const dependencies = sbom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }));
  return { ...sbom, components: executable ? [...components, nodeItself()] : components, dependencies };
}

/** They bring packages of their own, AWS's forty: an executable does not hold them. */
const chains = new Set(['@aws-sdk/credential-providers', 'google-auth-library']);

/** The optional peers that an executable holds: those that are one package. */
export function peersHeld(peerDependencies) {
  return Object.keys(peerDependencies).filter((name) => !chains.has(name));
}

/** `name@version` of each package in a list of licences. */
export function listed(file) {
  return [...readFileSync(file, 'utf8').matchAll(/^(\S+) (\d+\.\d+\.\d+\S*) \(.*\)$/gm)].map(
    ([, name, version]) => `${name}@${version}`,
  );
}

function nodeItself() {
  const version = process.versions.node;
  const purl = `pkg:generic/node@${version}`;
  return { 'bom-ref': purl, type: 'platform', name: 'node', version, purl, licenses: [{ license: { id: 'MIT' } }] };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , file, option] = process.argv;
  const sbom = sbomOf(join(root, 'dist'), { executable: option === '--executable' });
  writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`);
}
