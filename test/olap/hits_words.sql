-- What the rows of hits_rows.sql are drawn with.  skewed() draws small numbers more often: number k of n with the
-- density 1 / sqrt(k).
CREATE FUNCTION public.skewed(i bigint, salt bigint, n bigint) RETURNS bigint
	IMMUTABLE PARALLEL SAFE LANGUAGE sql
	AS 'SELECT n * (public.draw(i, salt, 1073741824) * public.draw(i, salt, 1073741824) >> 30) >> 30';

-- Words that number k stands for, of two syllables each.
CREATE FUNCTION public.word(k bigint) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql
	AS $$SELECT ('{ба,ве,ги,до,жу,за,ки,ле,мо,ну,па,ри,се,то,фу,ха,це,чи,шо,ры,ка,на}'::text[])[1 + k % 22]
		|| ('{рон,лик,тер,ма,ния,сть,вод,дом,кар,лет,ный,ция,рад,ток,фон,шка,бург,град}'::text[])[1 + k / 22 % 18]$$;

CREATE FUNCTION public.words(k bigint) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql
	AS $$SELECT public.word(public.draw(k, 1, 396)) || ' ' || public.word(public.draw(k, 2, 396))
		|| CASE WHEN k % 3 > 0 THEN ' ' || public.word(public.draw(k, 3, 396)) ELSE '' END
		|| CASE WHEN k % 5 > 2 THEN ' ' || public.word(public.draw(k, 4, 396)) || ' ' || k % 1000 ELSE '' END$$;

-- The address of page k; of 6,000 pages one is Google's.
CREATE FUNCTION public.page(k bigint) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql
	AS $$SELECT CASE WHEN k % 7 = 0 THEN 'https://' ELSE 'http://' END
		|| CASE WHEN k % 6000 = 77 THEN 'images.google.' ELSE ('{"",www.,"",m.,forum.}'::text[])[1 + k % 5]
			|| ('{auto,avto,video,news,foto,dom,job,game,mail,shop,kino,irr}'::text[])[1 + k / 12 % 12] || k / 300 % 300 || '.' END
		|| ('{ru,com,ua,net}'::text[])[1 + k / 5 % 4] || '/' || ('{catalog,index.php,search,forum,item,""}'::text[])[1 + k % 6]
		|| CASE WHEN k % 4 > 0 THEN '/' || substr(md5(k::text), 1, 4 + (k % 11)::int) || '/' || k || '.html' ELSE '/?page=' || k END
		|| CASE WHEN k % 3 = 0 THEN '&from=' || k % 97 || '&state=' || substr(md5((k / 2)::text), 1, 28) ELSE '' END$$;
