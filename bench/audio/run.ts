// node bench/run.mjs audio [row…] [--quick]

import { findTool } from '../../src/engines/audio/find-tool.ts';
import { loadCore, pin, type Subject, startCulvert } from '../gateway/processes.ts';
import { finish } from '../results.ts';
import { print, type Row } from '../rows.ts';
import { measureFirstByte } from './measure-first-byte.ts';
import { measureTranscodes } from './measure-transcodes.ts';
import { measureUpload } from './measure-upload.ts';

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const mode = flags.includes('--quick') ? 'quick' : 'full';

const measurements: Record<string, () => Promise<Row[]>> = {
  transcodes: () => measureTranscodes(mode),
  'first-byte': () => withEspeak((culvert) => measureFirstByte(culvert, mode)),
  upload: () => measureUpload(mode),
};

const unknown = named.filter((name) => !(name in measurements));
if (unknown.length > 0) {
  console.error(`No such row: ${unknown.join(', ')}. Rows: ${Object.keys(measurements).join(', ')}.`);
  process.exit(2);
}
for (const tool of ['ffmpeg', 'espeak-ng'])
  if (findTool(tool, process.env.PATH ?? '') === null) {
    console.error(`${tool} is needed: npm run setup:test-tools installs it.`);
    process.exit(1);
  }

async function withEspeak(measure: (culvert: Subject) => Promise<Row[]>): Promise<Row[]> {
  const culvert = await startCulvert({
    upstreamPort: 9,
    providers: {},
    models: { voice: { type: 'speech', tier: 'premium', targets: ['culvert/espeak-ng'] } },
    // Encoders run beside the gateway, as they would.
    cores: '0,1',
  });
  try {
    return await measure(culvert);
  } finally {
    await culvert.stop();
  }
}

const rows: Row[] = [];
for (const name of named.length > 0 ? named : Object.keys(measurements)) {
  // Fifty encoders are given both cores, everything else is measured from the second.
  if (name !== 'transcodes') pin(process.pid, loadCore);
  rows.push(...print(await (measurements[name] as () => Promise<Row[]>)()));
}

finish(
  {
    subject: 'audio',
    command: ['node bench/run.mjs audio', ...flags].join(' '),
    how: `Transcodes in this process, both cores, 30 s of sound each, as fast as they are taken; first bytes and uploads
through a gateway with everything on. That engines cost nothing at the start: the rows of \`gateway\`, cold start.`,
    rows,
  },
  named.length === 0,
);
