// @ts-check
import eslint from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const oneSourceTwoBuilds = [
  {
    selector:
      ':matches(ImportDeclaration, ExportNamedDeclaration, ExportAllDeclaration)[source.value=/^\\.(?!.*\\.js$)/]',
    message: 'The ES module build needs `.js` at the end of a relative import.',
  },
  { selector: 'MetaProperty[meta.name="import"]', message: 'The CommonJS build has no import.meta.' },
];

const clocks = 'A pure function takes the time, the dice and the waiting as arguments.';

export default defineConfig(
  // The consumers are compiled against the packed package, by scripts/check-package.mjs.
  globalIgnores(['dist', 'coverage', 'test/consumers']),
  eslint.configs.recommended,
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },

  {
    name: 'typescript',
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      'max-lines': ['error', { max: 200, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true }],

      // Leaves files with decorators alone by itself: with `import type` their metadata would lose the class.
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      '@typescript-eslint/no-misused-spread': ['error', { allow: [{ from: 'lib', name: 'string' }] }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],

      // tsc finds what is unused, and counts `typeof OPTIONS_TYPE`, which Nest's ConfigurableModuleBuilder asks for.
      '@typescript-eslint/no-unused-vars': 'off',
      // An interface and its token share one name: `PgQueueProducer`.
      '@typescript-eslint/no-redeclare': 'off',
      'no-redeclare': 'off',
      // Callers may write JavaScript: options are checked against what their types promise.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Nest's modules, its options and our tokens are classes by form only.
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // A constructor may narrow a parameter's type, and NonNullable<unknown> says more than {}.
      '@typescript-eslint/no-useless-constructor': 'off',
      '@typescript-eslint/no-generated-empty-object-type': 'off',
      // A matter of taste, where this code's taste differs.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
    },
  },
  {
    name: 'published sources',
    files: ['lib/**/*.ts', 'migrations/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { regex: '^nestjs-pgqueue(/|$)', message: 'Import the file itself, not the package.' },
            { regex: '^[./]+/index(\\.js)?$', message: 'Import the file itself, not the barrel of its folder.' },
          ],
        },
      ],
      'no-restricted-syntax': ['error', ...oneSourceTwoBuilds],
      'no-restricted-globals': ['error', '__dirname', '__filename', 'require', 'module', 'exports'],
    },
  },
  {
    name: 'domain: no clock, no dice',
    files: ['lib/domain/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'performance', 'process', 'crypto'].map(
          (name) => ({ name, message: clocks }),
        ),
      ],
      'no-restricted-syntax': [
        'error',
        ...oneSourceTwoBuilds,
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: clocks },
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: clocks },
        { object: 'Math', property: 'random', message: clocks },
      ],
    },
  },
  {
    name: 'tests',
    files: ['test/**/*.ts'],
    rules: {
      'max-lines': 'off',
      'max-lines-per-function': 'off',
      'no-console': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Bodies of responses and rows of queries are `any`; the assertions are their types.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/restrict-plus-operands': 'off',
    },
  },
  {
    name: 'programs that talk to a terminal',
    files: ['sample-app/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    name: 'scripts',
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: { console: 'readonly', process: 'readonly', setTimeout: 'readonly', __dirname: 'readonly' },
    },
  },
  {
    name: 'CommonJS scripts',
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs' },
  },
);
