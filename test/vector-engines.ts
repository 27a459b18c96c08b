import { startGateway, testKey } from './start-gateway.ts';

type Test = Parameters<typeof startGateway>[0];

/** Gateways over each engine that keeps vectors; the cluster is a second gateway's root, which speaks Qdrant's API. */
export const vectorEngines = {
  embedded: (t: Test) => startGateway(t),
  async qdrant(t: Test) {
    const qdrant = await startGateway(t);
    return startGateway(t, { vectors: { engine: 'qdrant', url: qdrant.url, api_key: testKey } });
  },
};
