import { Global, Module, type DynamicModule, type Type } from '@nestjs/common';

/** Where a provider may stand to the queue; each gives the imports and the providers of a root module. */
export type Layout = (
  witness: Type,
  imported: LayoutImports,
) => { imports: (DynamicModule | Type)[]; providers: Type[] };

export interface LayoutImports {
  readonly typeOrm: DynamicModule;
  /** PgQueueModule, importing `imports`. */
  queue(imports?: Type[]): DynamicModule;
}

function moduleOf(providers: Type[], imports: (DynamicModule | Type)[] = []): Type {
  @Module({ imports, providers, exports: providers })
  class SomeModule {}
  return SomeModule;
}

function globalOf(providers: Type[]): Type {
  const module = moduleOf(providers);
  Global()(module);
  return module;
}

export const layouts: readonly [string, Layout][] = [
  ['in the root module', (w, { typeOrm, queue }) => ({ imports: [typeOrm, queue()], providers: [w] })],
  ['in a sibling before', (w, { typeOrm, queue }) => ({ imports: [moduleOf([w]), typeOrm, queue()], providers: [] })],
  ['in a sibling after', (w, { typeOrm, queue }) => ({ imports: [typeOrm, queue(), moduleOf([w])], providers: [] })],
  ['in a global module', (w, { typeOrm, queue }) => ({ imports: [typeOrm, queue(), globalOf([w])], providers: [] })],
  [
    'in a module that imports the queue',
    (w, { typeOrm, queue }) => ({ imports: [typeOrm, moduleOf([w], [queue()])], providers: [] }),
  ],
  [
    'in a module that the queue imports',
    (w, { typeOrm, queue }) => ({ imports: [typeOrm, queue([moduleOf([w])])], providers: [] }),
  ],
  [
    'deep below a sibling',
    (w, { typeOrm, queue }) => ({
      imports: [typeOrm, queue(), moduleOf([], [moduleOf([], [moduleOf([w])])])],
      providers: [],
    }),
  ],
  [
    'above a queue that is deep below',
    (w, { typeOrm, queue }) => ({
      imports: [moduleOf([w], [moduleOf([], [moduleOf([], [typeOrm, queue()])])])],
      providers: [],
    }),
  ],
];
