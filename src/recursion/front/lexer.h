/*-------------------------------------------------------------------------
 *
 * lexer.h
 *	  Tokens of datalog programs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_LEXER_H
#define GPUCOL_RECURSION_FRONT_LEXER_H

#include "postgres.h"

typedef enum DatalogTokenKind
{
	TOKEN_END,
	TOKEN_NAME,					/* identifier */
	TOKEN_DIRECTIVE,			/* .decl and the like; text without the dot */
	TOKEN_NUMBER,
	TOKEN_STRING,				/* text without quotes, escapes replaced */
	TOKEN_SYMBOL				/* punctuation; text as it stands */
} DatalogTokenKind;

typedef struct DatalogToken
{
	DatalogTokenKind kind;
	int			position;		/* byte offset in the program */
	char	   *text;
} DatalogToken;

typedef struct DatalogLexer
{
	const char *text;
	int			at;
} DatalogLexer;

/* Read the next token; raises an error for what is none. */
extern DatalogToken gpucol_datalog_lex(DatalogLexer *lexer);

#endif							/* GPUCOL_RECURSION_FRONT_LEXER_H */
