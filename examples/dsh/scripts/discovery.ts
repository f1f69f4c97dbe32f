/** Which files reach the model, and when. */
import type { Script } from '../script-types.ts'
import { call, edit, read, say, write } from './replies.ts'

export const discoveryScripts: Script[] = [
  {
    name: 'baseline',
    about: 'user-global, root and nested instructions before the first request',
    home: { 'AGENTS.md': 'Answer in short sentences.\n' },
    project: {
      '.git': null,
      'AGENTS.md': '# Project\n\nRun the tests.\n',
      'AGENTS.local.md': 'My machine is slow.\n',
      'packages/AGENTS.md': 'Packages are published together.\n',
      'packages/app/CLAUDE.md': 'The app has no tests yet.\n',
      'packages/app/src/AGENTS.md': 'Below the working directory: not yet.\n',
    },
    cwd: 'packages/app',
    runs: [{ task: 'say hello', replies: () => [say('hello')] }],
    sees: [
      'baseline $DSH_HOME/AGENTS.md, baseline AGENTS.md, baseline AGENTS.local.md, baseline packages/AGENTS.md, baseline packages/app/CLAUDE.md',
    ],
  },
  {
    name: 'default-home',
    about: 'user-global instructions without DSH_HOME',
    usesDefaultHome: true,
    home: { 'AGENTS.md': 'Answer in short sentences.\n' },
    project: { '.git': null },
    runs: [{ task: 'say hello', replies: () => [say('hello')] }],
    sees: ['baseline ~/.dsh/AGENTS.md'],
  },
  {
    name: 'no-instructions',
    about: 'a project without any instruction file',
    project: { '.git': null, 'notes.txt': 'nothing here\n' },
    runs: [{ task: 'read the notes', replies: () => [call(read('notes.txt')), say('nothing there')] }],
    sees: [],
  },
  {
    name: 'nested-read',
    about: 'a read reaches deeper directories; a second one there adds nothing',
    project: {
      '.git': null,
      'AGENTS.md': 'Root rules.\n',
      'packages/AGENTS.md': 'Package rules.\n',
      'packages/app/AGENTS.md': 'App rules.\n',
      'packages/app/CLAUDE.local.md': 'Local app rules.\n',
      'packages/app/main.ts': 'export const answer = 42\n',
    },
    runs: [
      {
        task: 'read the app',
        replies: () => [
          call(read('packages/app/main.ts')),
          call(read('packages/app/main.ts'), read('packages/app/missing.ts')),
          say('it exports the answer'),
        ],
      },
    ],
    sees: [
      'baseline AGENTS.md',
      'added packages/AGENTS.md, added packages/app/AGENTS.md, added packages/app/CLAUDE.local.md',
    ],
  },
  {
    name: 'many-calls',
    about: 'several reads, a write and an edit in one assistant message, also outside the project',
    home: { 'AGENTS.md': 'Answer in short sentences.\n' },
    project: {
      '.git': null,
      'AGENTS.md': 'Root rules.\n',
      'a/AGENTS.md': 'Rules of a.\n',
      'a/one.txt': 'one\n',
      'b/AGENTS.md': 'Rules of b.\n',
      'b/two.txt': 'two\n',
      'c/AGENTS.md': 'Rules of c.\n',
      '..odd/AGENTS.md': 'Rules of a directory whose name begins with two dots.\n',
      '..odd/three.txt': 'three\n',
    },
    runs: [
      {
        task: 'look around',
        replies: ({ home }) => [
          call(read('b/two.txt'), read('a/one.txt'), read('..odd/three.txt'), read(home.at('AGENTS.md'))),
          call(write('c/deep/new.txt', 'new\n'), edit('a/one.txt', 'one', 'uno')),
          say('done'),
        ],
      },
    ],
    sees: [
      'baseline $DSH_HOME/AGENTS.md, baseline AGENTS.md',
      'added b/AGENTS.md, added a/AGENTS.md',
      'added c/AGENTS.md',
    ],
  },
  {
    name: 'duplicates',
    about: 'a CLAUDE.md that repeats its AGENTS.md is told once; one that differs is told too',
    project: {
      '.git': null,
      'AGENTS.md': 'Shared rules.\n',
      'CLAUDE.md': '\n  Shared rules.\r\n\n',
      'lib/AGENTS.md': 'Library rules.\n',
      'lib/CLAUDE.md': 'Other library rules.\n',
      'lib/index.ts': 'export {}\n',
    },
    runs: [
      {
        task: 'look at the library, then make its files agree',
        replies: () => [
          call(read('lib/index.ts'), read('lib/CLAUDE.md')),
          call(edit('lib/CLAUDE.md', 'Other library', 'Library')),
          call(edit('lib/CLAUDE.md', 'Library', 'Distinct library')),
          say('they differ again'),
        ],
      },
    ],
    sees: [
      'baseline AGENTS.md',
      'added lib/AGENTS.md, added lib/CLAUDE.md',
      'removed lib/CLAUDE.md',
      'added lib/CLAUDE.md',
    ],
  },
]
