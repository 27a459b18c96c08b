// Forked: the mock in a process of its own, which may be stopped, and counts its requests.
import { createSimulator } from '../../src/simulator/simulator.ts';
import type { UpstreamCounts } from './processes.ts';

const counts: UpstreamCounts = {};
const simulator = createSimulator({
  onEnded({ method, headers, at_ms }) {
    if (method !== 'POST') return;
    const credential = headers.authorization?.slice('Bearer '.length) ?? '';
    counts[credential] ??= [];
    counts[credential].push(at_ms);
  },
});
const { port } = await simulator.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port });
process.on('message', () => process.send?.(counts));
process.on('disconnect', () => process.exit(0));
