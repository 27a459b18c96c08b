/** The provider that nobody configures: models of the gateway's own process. */
export const ownProvider = 'culvert';

/** What targets may name there. */
export const ownModels: readonly string[] = ['culvert-lexical-1024'];
