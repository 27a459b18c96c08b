/** A model in this process that makes vectors of texts. Holds no state of a request and may be shared. */
export interface EmbeddingEngine {
  /** The upstream model id that targets name it by. */
  readonly model: string;
  /** Length of every vector it makes; it makes no other. */
  readonly dimensions: number;
  /**
   * One vector for each text, in order, row after row: `texts.length` × `dimensions`. Never holds up the loop for long:
   * much text is done in slices, between which others have their turn.
   */
  embed(tenant: string, texts: readonly string[]): Promise<Float32Array>;
}

/** The provider name by which targets name the engines of this process; no other provider can have it. */
export const engineProvider = 'culvert';
