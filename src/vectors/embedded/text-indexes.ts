import type { TextIndexes } from '../filter/with-text-indexes.ts';
import { readTextIndex } from '../wire/read-text-options.ts';
import type { CollectionRow } from './collection-row.ts';

/** The payload indexes of a collection that define how texts are split into terms. */
export function textIndexesOf(indexes: CollectionRow['indexes']): TextIndexes {
  return (field) => {
    const found = indexes.find(({ key, type }) => key === field && type === 'text');
    return found?.params === undefined ? null : readTextIndex(found.params, 'field_schema');
  };
}
