/** Instruction files that change while the model works. */
import type { Script } from '../script-types.ts'
import { call, edit, meanwhile, read, say, write } from './replies.ts'

export const changeScripts: Script[] = [
  {
    name: 'edit-by-model',
    about: 'the model edits an instruction file and writes a new one',
    project: {
      '.git': null,
      'AGENTS.md': 'Use tabs.\n',
      'src/main.ts': 'export {}\n',
    },
    runs: [
      {
        task: 'switch to spaces',
        replies: () => [
          call(read('AGENTS.md')),
          call(edit('AGENTS.md', 'tabs', 'spaces')),
          call(write('src/AGENTS.md', 'Sources are TypeScript.\n')),
          call(write('src/AGENTS.md', '')),
          say('done'),
        ],
      },
    ],
    sees: ['baseline AGENTS.md', 'updated AGENTS.md', 'added src/AGENTS.md', 'updated src/AGENTS.md'],
  },
  {
    name: 'removal',
    about: 'someone deletes, restores and moves files between two requests',
    project: {
      '.git': null,
      'AGENTS.md': 'Root rules.\n',
      'CLAUDE.md': 'More root rules.\n',
      'app/AGENTS.md': 'App rules.\n',
      'app/main.ts': 'export {}\n',
    },
    runs: [
      {
        task: 'read the app a few times',
        replies: ({ project }) => [
          call(read('app/main.ts')),
          meanwhile(() => project.remove('app/AGENTS.md'), call(read('app/main.ts'))),
          meanwhile(() => project.write('app/AGENTS.md', 'App rules.\n'), call(read('app/main.ts'))),
          meanwhile(() => project.rename('CLAUDE.md', 'CLAUDE.local.md'), call(read('app/main.ts'))),
          meanwhile(() => {
            project.remove('app/AGENTS.md')
            project.write('app/AGENTS.md/not-a-file.txt', 'a directory of that name\n')
          }, call(read('app/main.ts'))),
          say('done'),
        ],
      },
    ],
    sees: [
      'baseline AGENTS.md, baseline CLAUDE.md',
      'added app/AGENTS.md',
      'removed app/AGENTS.md',
      'added app/AGENTS.md',
      'removed CLAUDE.md, added CLAUDE.local.md',
      'removed app/AGENTS.md',
    ],
  },
  {
    name: 'between-turns',
    about: 'files change while no turn is open, in a session of three turns',
    project: {
      '.git': null,
      'AGENTS.md': 'First rules.\n',
      'docs/AGENTS.md': 'Document rules.\n',
      'docs/index.md': '# Index\n',
    },
    runs: [
      {
        task: ['read the index', 'and now?', 'and now?'],
        replies: ({ project }) => [
          call(read('docs/index.md')),
          meanwhile(() => project.write('AGENTS.md', 'Second rules.\n'), say('read')),
          meanwhile(() => {
            project.remove('docs/AGENTS.md')
            project.write('AGENTS.local.md', 'Local rules.\n')
          }, say('now the root rules changed')),
          say('now some are gone'),
        ],
      },
    ],
    sees: [
      'baseline AGENTS.md',
      'added docs/AGENTS.md',
      'updated AGENTS.md',
      'added AGENTS.local.md, removed docs/AGENTS.md',
    ],
  },
  {
    name: 'created-late',
    about: 'a project gets its first instruction file while the model works',
    project: { '.git': null, 'notes.txt': 'notes\n' },
    runs: [
      {
        task: 'write instructions',
        replies: () => [
          call(read('notes.txt')),
          call(write('AGENTS.md', 'Keep notes.\n')),
          call(read('notes.txt')),
          say('done'),
        ],
      },
    ],
    sees: ['baseline AGENTS.md'],
  },
  {
    name: 'failing-model',
    about: 'the model refuses after a read; the command fails',
    project: {
      '.git': null,
      'AGENTS.md': 'Root rules.\n',
      'app/AGENTS.md': 'App rules.\n',
      'app/main.ts': 'export {}\n',
    },
    runs: [
      {
        task: 'read the app',
        replies: () => [call(read('app/main.ts')), { refuse: 'invalid_request' }],
        exitCode: 1,
      },
    ],
    sees: ['baseline AGENTS.md', 'added app/AGENTS.md'],
  },
]
