export const lexicalModel = 'culvert-lexical-1024';
export const lexicalDimensions = 1_024;
